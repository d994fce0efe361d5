#include "sordino/solvers/driver.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/range.hpp"
#include "sordino/solvers/driver_steps.hpp"

namespace sordino {
namespace {

constexpr double divergence = 1e10;     // growth of the residual norm that ends a solve
constexpr double tighten = 0.5;         // aim below the target after a recurrence promised too much
constexpr double least_progress = 0.5;  // a restart must reduce the true residual by this factor
constexpr int most_restarts = 100;
constexpr double lost = 1e4;  // a recurrence that promised a residual so much below the true one has lost touch with it

const char* why_stopped(Status status) {
  if (status == Status::time_limit) return ": the time limit is reached";
  return status == Status::stopped_by_user ? ": a callback asked for it" : ", from outside";
}

/// Whether the loop ended for what another way might do better.
bool may_fall_back(Verdict v) { return v == met || v == broke_down || v == not_definite || v == blew_up; }

std::string relative(double norm, double b_norm) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", norm / b_norm);
  return text;
}

}  // namespace

Driver::Driver(Rank& rank, const Operator& A, const Preconditioner& M, const MethodEntry& entry, int check_every,
               int replace_every, const Watch& watch, const Nullspace& nullspace, const StepBasis& basis)
    : s_(rank), A_(A) {
  b_ = s_.vector("b", A.space());
  x_ = A.operand(s_, "x");
  Ax_ = A.result(s_, "A x");
  best_ = s_.vector("best x", A.space());
  bb_ = s_.scalar("(b,b)");
  rr_ = s_.scalar("(b-Ax,b-Ax)");
  target_ = s_.scalar("target", 0);
  bound_ = s_.scalar("bound", 0);
  best_rr_ = s_.scalar("best (r,r)", HUGE_VAL);

  zero_x_ = s_.record([&] { s_.run(Zero{x_}); });
  norm_of_b_ = s_.record([&] {
    s_.dots(dot(b_, b_) >> bb_);
    s_.wait(bb_);
  });
  residual_ = s_.record([&] {
    s_.run(Nothing{}, push(x_));
    A_.apply(s_, x_, Ax_);
    s_.run(TrueResidual{.b = b_, .Ax = Ax_}, start(rr_));
    s_.wait(rr_);
  });
  swap_best_ = s_.record([&] { s_.run(Swap{.a = x_, .b = best_}); });
  keep_start_ = s_.record([&] { s_.run(Scaled{.from = x_, .to = best_}); });
  if (M.operation()) require_any_preconditioner(entry);
  if (!nullspace.empty()) make_projectors(nullspace);
  if (null_ && M.operation()) M_ = std::make_unique<DeflatedOperator>(*M.operation(), *null_);
  if (watch.every > 0) watcher_ = std::make_unique<Watcher>(s_, watch, x_);
  method_ = entry.make({s_, A_, M.diagonal(), b_, x_, Ax_, target_, bound_, best_, best_rr_, check_every,
                        M_ ? M_.get() : M.operation(), watcher_.get(), basis});
  if (watcher_) {
    seen_rr_ = s_.scalar("(r,r) at the exit");
    look_ = s_.record([&] { watcher_->record_look(seen_rr_); });
  }
  replace_every_ = !method_->replace ? 0 : replace_every > 0 ? replace_every : method_->replace_every;
  rehearse();
  steps_ = method_->steps();
  values_changed();
}

// All ways that a solve may go: none of them is first gone in the middle of one. A rotation leaves names in several orders, and
// what follows the loop before they are reset is compiled for each: it may end in any iteration, and begins anew where
// replacements leave it.
void Driver::rehearse() {
  Range range("rehearse");
  Rehearsal all(s_);
  auto go = [&](auto... recorded) { ((recorded->operator bool() ? all.replay(*recorded) : void()), ...); };
  go(&method_->prepare, &zero_x_, &norm_of_b_, &residual_, &keep_start_, &swap_best_, &project_x_, &project_b_, &look_);
  do rehearse_way(all);
  while (method_->fall_back());
  method_->forget();
}

void Driver::rehearse_way(Rehearsal& all) {
  auto go = [&](auto... recorded) { ((recorded->operator bool() ? all.replay(*recorded) : void()), ...); };
  const int period = method_->iterate.recording().period;
  for (int turn = 0; turn < period; turn++) {
    s_.reset_names();
    go(&method_->begin);
    all.replay(method_->iterate, turn);
    go(&method_->end, &method_->after_all, &look_);
  }
  if (replace_every_ == 0) return;
  s_.reset_names();
  go(&method_->begin);
  for (int turn = 0; turn <= period; turn++) {
    all.replay(method_->iterate, replace_every_);
    go(&method_->replace);
  }
}

void Driver::values_changed() {
  Range range("prepare");
  if (method_->prepare) s_.replay(method_->prepare);
}

void Driver::read_solution(double* x) const { s_.read(x_, x); }

void Driver::make_projectors(const Nullspace& nullspace) {
  null_ = std::make_unique<Projector>(s_, A_.space(), nullspace.right, "null vector");
  project_x_ = s_.record([&] { null_->record(x_); });
  if (nullspace.left.count > 0)
    null_of_transpose_ = std::make_unique<Projector>(s_, A_.space(), nullspace.left, "null vector of the transpose");
  project_b_ = s_.record([&] { (null_of_transpose_ ? *null_of_transpose_ : *null_).record(b_); });
}

double Driver::residual() {
  Range range("verify");
  if (null_) s_.replay(project_x_);
  s_.replay(residual_);
  return std::sqrt(s_.get(rr_));
}

SolveOutcome Driver::solve(const double* b, const double* x0, const SolveControl& control) {
  SolveOutcome out;
  s_.reset_names();
  s_.history.clear();
  s_.stop_seen = false;
  take_b(b, out);
  start_from(x0);
  if (out.b_norm == 0) {
    s_.replay(zero_x_);
    out.status = Status::converged;
    out.reason = out.outside_norm > 0 ? "the right-hand side has no part in the range of A: x = 0 leaves the least residual"
                                      : "the right-hand side is zero, and so is the solution";
    return out;
  }
  const double target = std::max(control.rtol * out.b_norm, control.atol);
  method_->forget();
  const double first = residual();
  double norm = first, aim = target;
  s_.set(bound_, std::pow(divergence * std::max(norm, out.b_norm), 2));
  s_.set(best_rr_, norm * norm);
  s_.replay(keep_start_);
  for (bool again = true; again;) {
    again = false;
    bool fell = false;
    if (norm <= target) {
      out.status = Status::converged;
      out.reason = "the recomputed residual meets the tolerance";
      break;
    }
    s_.set(target_, aim * aim);
    double before = norm;
    method_->fit(control.max_iterations - out.iterations);
    Verdict verdict = iterate(control.max_iterations - out.iterations, norm, out);
    s_.reset_names();  // of what follows, nothing asks for what has traded places
    norm = residual();
    if (verdict == proceed) tell_last(norm, out);
    if (verdict == not_definite || verdict == blew_up) {
      keep_better(norm);
      if (has_lost_touch(norm)) {
        verdict = met;
        begin_from_x(norm);
      }
    }
    if (norm <= target) {
      again = true;  // says so at the top
    } else {
      fell = verdict == broke_down && method_->fall_back();
      if (!fell) {
        out.status = judge(verdict, norm, before, out, again);
        if (out.status == Status::interrupted) out.status = control.stop_reason();
        if (verdict == asked_to_stop && !again) out.reason += why_stopped(out.status);
        fell = !again && may_fall_back(verdict) && method_->fall_back();
      }
      if (fell) {
        keep_better(norm);
        begin_from_x(norm);
      }
      again |= fell || verdict == proceed;  // that one: fewer are left than the loop takes at once
      if (again && out.iterations >= control.max_iterations) {
        again = false;
        out.status = judge(proceed, norm, before, out, again);
      }
    }
    if (verdict != proceed) aim = fell ? target : aim * tighten;
  }
  if (out.status != Status::converged) {
    keep_better(norm);
    if (!(norm <= first)) {  // a NaN, or all that was kept is worse than what the solve was given
      start_from(x0);
      norm = residual();
    }
  }
  out.residual_norm = norm;
  out.reason += method_->remark();
  if (out.status != Status::converged)
    out.reason +=
        "; relative residual " + relative(norm, out.b_norm) + " after " + std::to_string(out.iterations) + " iterations";
  if (out.outside_norm > target)
    out.reason += "; a part of b outside the range of A, " + relative(out.outside_norm, out.b_norm) +
                  " times the rest, was taken away: what is said here is about the rest";
  return out;
}

// Where there is a nullspace, b is projected twice: the second time takes out what the first rounded. A rest of so few digits
// is nothing but rounding.
void Driver::take_b(const double* b, SolveOutcome& out) {
  s_.write(b_, b);
  s_.replay(norm_of_b_);
  out.b_norm = std::sqrt(s_.get(bb_));
  if (!null_) return;
  constexpr double nothing = 1e-14;
  const double whole = out.b_norm;
  s_.replay(project_b_);
  out.outside_norm = (null_of_transpose_ ? *null_of_transpose_ : *null_).taken();
  s_.replay(project_b_);
  s_.replay(norm_of_b_);
  out.b_norm = std::sqrt(s_.get(bb_));
  if (out.b_norm <= nothing * whole) out.b_norm = 0;
}

void Driver::start_from(const double* x0) {
  if (x0)
    s_.write(x_, x0);
  else
    s_.replay(zero_x_);
}

double Driver::time_product(int pairs, const double* x) {
  if (!products_) {
    Vec y = A_.operand(s_, "y");
    first_push_ = s_.record([&] { s_.run(Nothing{}, push(x_)); });
    products_ = s_.loop({}, [&] {
      A_.apply(s_, x_, y);
      s_.push_last(y);
      A_.apply(s_, y, x_);
      s_.push_last(x_);
    });
  }
  auto run = [&](int count) {
    s_.reset_names();
    s_.write(x_, x);
    s_.replay(first_push_);
    s_.engine().barrier(s_);
    double begin = s_.engine().now(s_);
    s_.replay(products_, count);
    return (s_.engine().now(s_) - begin) / (2 * count);
  };
  run(pairs);  // warms up: graphs, caches, clocks
  return run(pairs);
}

// One run of the loop, in stretches between residual replacements. norm: of the residual that it begins from.
Verdict Driver::iterate(int left, double norm, SolveOutcome& out) {
  Range range("iterate");
  const int steps = method_->steps();
  s_.replay(method_->begin);
  for (;;) {
    s_.history.clear();
    if (watcher_) watcher_->loop_begins(out.iterations, out.b_norm, steps);
    Outcome o = s_.replay(method_->iterate, replace_every_ > 0 ? std::min(left, replace_every_) : left / steps);
    tell_history(out.iterations, norm, out);
    // The test that ends an iteration belongs to it; one that stands first belongs to the iteration before.
    int updates = steps * (o.iterations - (method_->tests_first && o.exited() ? 1 : 0));
    out.iterations += updates;
    left -= updates;
    bool lags = o.verdict == met || o.verdict == asked_to_stop, over = o.exited() || left < steps;
    if (lags && method_->end) s_.replay(method_->end);
    if (!o.exited() && over && method_->after_all) s_.replay(method_->after_all);
    look_at_last(o, out.iterations);
    if (over) return o.verdict;
    Range replacing("replace residuals");
    s_.replay(method_->replace);
  }
}

// A test that stands first tells of the iteration before: of none, or of what a loop before this one has told, or could not.
void Driver::tell_history(int begun, double norm, SolveOutcome& out) const {
  const int steps = method_->steps();
  std::size_t after = std::size_t(begun + (method_->tests_first ? 0 : steps));
  for (double rr : s_.history) {
    if (after > out.history.size()) {
      out.history.resize(after - 1, out.history.empty() ? norm / out.b_norm : out.history.back());
      out.history.push_back(std::sqrt(rr) / out.b_norm);
    }
    after += std::size_t(steps);
  }
}

// No test comes after the last iteration, where it stands first.
void Driver::tell_last(double norm, SolveOutcome& out) {
  if (out.history.size() < std::size_t(out.iterations)) out.history.push_back(norm / out.b_norm);
}

// A loop that ends well in its test does not come to the look at the end of its body.
void Driver::look_at_last(const Outcome& o, int iterations) {
  if (!watcher_ || o.verdict != met || !watcher_->is_due(iterations)) return;
  s_.set(seen_rr_, s_.history.back());
  s_.replay(look_);
}

// Whether the recurrence went on into rounding (down to underflow, in the end): what it met there says nothing of A. Both
// norms are those of the best x of the checks.
bool Driver::has_lost_touch(double norm) { return std::sqrt(s_.get(best_rr_)) * lost < norm; }

// What the end of a loop means once the true residual is known.
Status Driver::judge(Verdict verdict, double norm, double before, SolveOutcome& out, bool& again) {
  bool progress = norm < least_progress * before;
  switch (verdict) {
    case met:
      again = progress && ++out.restarts <= most_restarts;
      out.reason =
          "the recurrence has gone below the tolerance or lost touch, the recomputed residual does not follow, and restarting "
          "no longer helps: this is the attainable accuracy";
      return Status::stagnated;
    case broke_down:
      again = progress && ++out.restarts <= most_restarts;
      out.reason = "a scalar product of the recurrence vanished, and restarting from the best x no longer helps";
      return Status::breakdown;
    case not_definite:
      out.reason = "(p, A p) is not positive: the matrix or the preconditioner is not positive definite; use bicgstab";
      return Status::indefinite;
    case blew_up: out.reason = "the residual has grown beyond all bounds or is not a number"; return Status::diverged;
    case asked_to_stop: out.reason = "stopped on request"; return Status::interrupted;
    case proceed: break;
  }
  out.reason = "the maximum number of iterations is reached";
  return Status::max_iterations;
}

// What is best is what x is, no longer what a recurrence promised of it; A x is that of x again.
void Driver::begin_from_x(double& norm) {
  norm = residual();
  s_.set(best_rr_, norm * norm);
  s_.replay(keep_start_);
}

// The best x of the checks replaces the last one, if its true residual is smaller.
void Driver::keep_better(double& norm) {
  double best_rr = s_.get(best_rr_);
  if (std::isfinite(norm) && best_rr >= norm * norm) return;
  s_.replay(swap_best_);
  double best = residual();
  if (best < norm || !std::isfinite(norm)) {
    norm = best;
  } else {
    s_.replay(swap_best_);
  }
}

}  // namespace sordino
