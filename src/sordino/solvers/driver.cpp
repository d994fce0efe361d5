#include "sordino/solvers/driver.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/range.hpp"
#include "sordino/solvers/driver_steps.hpp"
#include "sordino/solvers/endings.hpp"
#include "sordino/solvers/recourse.hpp"

namespace sordino {
namespace {

constexpr double parted = 1.5;  // times what a recurrence that levels out takes for its residual: the true one does not follow

}  // namespace

Driver::Driver(Rank& rank, const Operator& A, const Preconditioner& M, const MethodEntry& entry, int check_every,
               int replace_every, const Watch& watch, const Nullspace& nullspace, const StepBasis& basis)
    : s_(rank),
      A_(A),
      system_(rank, A, M.scaling(), nullspace),
      best_(rank, system_),
      operation_(M.operation()),
      check_every_(std::min(check_every, most_unchecked)) {
  const Vec x = system_.x;
  target_ = s_.scalar("target", 0);
  bound_ = s_.scalar("bound", 0);
  if (M.operation()) require_any_preconditioner(entry);
  if (system_.null() && M.operation()) M_ = std::make_unique<DeflatedOperator>(*M.operation(), *system_.null());
  if (watch.every > 0) watcher_ = std::make_unique<Watcher>(s_, watch, x, M.scaling() ? M.scaling()->S : Vec{});
  method_ = entry.make({s_, A_, M.diagonal(), system_.b, x, system_.Ax, target_, bound_, best_.promised_x, best_.promised_rr,
                        check_every_, M_ ? M_.get() : M.operation(), watcher_.get(), basis, 1, bool(system_.null())});
  if (method_->levels_out || system_.null() || has_another_way()) best_.keep_verified_apart();
  if (watcher_) {
    seen_rr_ = s_.scalar("(r,r) at the exit");
    look_ = s_.record([&] { watcher_->record_look(seen_rr_); });
  }
  replace_every_ = !method_->replace ? 0 : replace_every > 0 ? replace_every : method_->replace_every;
  rehearse();
  steps_ = method_->steps();
  values_changed();
}

bool Driver::has_another_way() {
  const bool has = method_->fall_back().has_value();
  method_->forget();
  return has;
}

// All ways that a solve may go: none of them is first gone in the middle of one. A rotation leaves names in several orders, and
// what follows the loop before they are reset is compiled for each: it may end in any iteration, and begins anew where
// replacements leave it.
void Driver::rehearse() {
  Range range("rehearse");
  do
    if (is_looked_at()) system_.record_look(method_->r);
  while (method_->fall_back());
  method_->forget();
  Rehearsal all(s_);
  auto go = [&](auto... recorded) { ((recorded->operator bool() ? all.replay(*recorded) : void()), ...); };
  go(&method_->prepare, &look_);
  best_.rehearse(all);
  system_.rehearse(all);
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
    if (system_.is_scaled()) system_.rehearse_look(all, method_->r);
  }
  if (replaces())
    rehearse_replacements(all);
  else if (is_looked_at())
    rehearse_stretches(all);
}

void Driver::rehearse_replacements(Rehearsal& all) {
  s_.reset_names();
  all.replay(method_->begin);
  for (int turn = 0; turn <= method_->iterate.recording().period; turn++) {
    all.replay(method_->iterate, replace_every_);
    method_->levels_out ? rehearse_look(all) : best_.rehearse_keep(all);
    all.replay(method_->replace);
  }
  all.drop_carried();
}

// What is replayed between two stretches leaves alone what the loop carries.
void Driver::rehearse_stretches(Rehearsal& all) {
  s_.reset_names();
  all.replay(method_->begin);
  for (int turn = 0; turn <= method_->iterate.recording().period; turn++) {
    all.replay_stretch(method_->iterate, 1);
    rehearse_look(all);
  }
  all.drop_carried();
}

void Driver::rehearse_look(Rehearsal& all) {
  system_.rehearse_look(all, method_->r);
  if (method_->after_all) all.replay(method_->after_all);
  if (method_->levels_out) {
    system_.rehearse_residual(all);
    best_.rehearse_verified(all);
  }
  best_.rehearse_keep(all);
}

void Driver::values_changed() {
  Range range("prepare");
  if (method_->prepare) s_.replay(method_->prepare);
}

void Driver::read_solution(double* x) const { s_.read(system_.x, x); }

SolveOutcome Driver::solve(const double* b, const double* x0, const SolveControl& control) {
  SolveOutcome out;
  s_.reset_names();
  s_.history.clear();
  s_.stop_seen = false;
  system_.take_b(b);
  out.b_norm = system_.b_norm(), out.outside_norm = system_.outside_norm();
  system_.start_from(out.b_norm == 0 ? nullptr : x0);
  if (out.b_norm == 0) {
    out.status = Status::converged;
    out.reason = out.outside_norm > 0 ? "the right-hand side has no part in the range of A: x = 0 leaves the least residual"
                                      : "the right-hand side is zero, and so is the solution";
    return out;
  }
  const double target = std::max(control.rtol * out.b_norm, control.atol);
  method_->forget();
  const double first = system_.residual();
  double norm = first, aim = target;
  s_.set(bound_, square(divergence * system_.in_loop(std::max(norm, out.b_norm))));
  best_.begin(norm);
  kept_ = 0;
  bool had_parted = false;  // x is near what can be attained: what overflows there, or vanishes, is rounding
  auto is_met = [&] { return std::hypot(norm, system_.unsure()) <= target; };
  while (!is_met()) {
    if (out.iterations >= control.max_iterations) {
      out.status = judge(proceed, out.reason);
      break;
    }
    s_.set(target_, square(system_.sufficient(aim)));
    const double before = norm;
    method_->fit(control.max_iterations - out.iterations);
    Ending ending = iterate(control.max_iterations - out.iterations, norm, aim, out);
    s_.reset_names();  // of what follows, nothing asks for what has traded places
    norm = system_.residual();
    if (ending.verdict == proceed) tell_last(norm, out);
    if (ending.verdict == not_definite || ending.verdict == blew_up) {
      best_.take_promised(norm);
      const bool rounding = had_parted || norm <= attained * first;
      if (best_.has_lost_touch(norm) || (rounding && (ending.verdict == blew_up || system_.null()))) {
        ending = {met, "it had run on into rounding"};
        norm = system_.residual();  // A x is that of x again
      }
    }
    if (is_met() || ending.verdict == proceed) continue;  // that one: fewer are left than the loop takes at once
    const std::optional<Recovery::Kind> kind = recovery(ending.verdict, norm, before, out);
    if (!kind) {
      out.status = judge(ending.verdict, out.reason);
      if (out.status == Status::diverged) out.reason += method_->why_diverged();
      if (ending.verdict == asked_to_stop) {
        out.status = control.stop_reason();
        out.reason += why_stopped(out.status);
      }
      break;
    }
    had_parted |= ending.verdict == met;
    const bool restarts = kind == Recovery::Kind::residual_replaced;
    if (!restarts) {
      best_.take_promised(norm);
      norm = system_.residual();
    }
    best_.take_best(norm);
    keep(norm, out.iterations);  // verified, whatever a recurrence has promised of another x
    aim = restarts ? aim * tighten : target;
    if (out.iterations < control.max_iterations)
      out.recoveries.push_back({out.iterations, *kind, ending.why, norm / out.b_norm});
  }
  if (!is_met()) {
    best_.take_promised(norm);
    best_.take_best(norm);
    if (!(norm <= first)) {  // a NaN, or all that was kept is worse than what the solve was given
      system_.start_from(x0);
      norm = system_.residual();
    }
  }
  if (is_met()) {
    out.status = Status::converged;
    out.reason = "the recomputed residual meets the tolerance";
  }
  system_.hand_out(x0, out.iterations > 0);
  out.residual_norm = norm;
  out.reason += method_->remark() + figures(out, target);
  return out;
}

double Driver::time_product(int pairs, const double* x) {
  if (!products_) products_ = std::make_unique<TimedProducts>(s_, A_, system_.x);
  return products_->seconds(s_, pairs, x);
}

// One run of the loop, in stretches between residual replacements, or between looks at the residual: of a scaled system, and
// of a recurrence that may level out. norm: of the residual that it begins from.
Driver::Ending Driver::iterate(int left, double norm, double aim, SolveOutcome& out) {
  Range range("iterate");
  const int steps = method_->steps();
  const bool looks = system_.norms_differ(), levels = method_->levels_out, goes_on = !replaces() && (looks || levels);
  Approach approach(out.iterations, norm, aim);
  Plateau plateau(square(system_.in_loop(norm)));
  if (operation_) operation_->expect(s_, method_->normalizes ? std::sqrt(system_.in_loop(norm)) : system_.in_loop(norm));
  s_.replay(method_->begin);
  for (;;) {
    s_.history.clear();
    if (watcher_) watcher_->loop_begins(out.iterations, system_.in_loop(out.b_norm), steps);
    const int wanted = std::min(looks ? approach.next() : left, levels ? plateau.next() : left);
    const int most = goes_on ? stretch(wanted, left) : replaces() ? std::min(left, replace_every_) : left / steps;
    Outcome o = goes_on ? s_.replay_stretch(method_->iterate, most) : s_.replay(method_->iterate, most);
    const double seen = looks ? system_.look(method_->r) : norm;
    tell_history(out.iterations, norm, out);
    // The test that ends an iteration belongs to it; one that stands first belongs to the iteration before.
    int updates = steps * (o.iterations - (method_->tests_first && o.exited() ? 1 : 0));
    out.iterations += updates;
    left -= updates;
    if (looks && !o.exited()) tell_last(seen, out);
    const bool arrived = looks && !o.exited() && seen <= aim;
    const bool lags = o.verdict == met || o.verdict == asked_to_stop || (method_->x_is_apart && o.exited());
    bool over = o.exited() || arrived || left < steps;
    const bool lost = levels && plateau.seen(updates, s_.history) && !over && has_parted();
    over |= lost;
    if (lost) tell_last(system_.look(method_->r), out);
    if (lags && method_->end) s_.replay(method_->end);
    if (!o.exited() && over && method_->after_all) s_.replay(method_->after_all);
    look_at_last(o, out.iterations);
    if (over) {
      s_.drop_carried(method_->iterate);
      if (lost) return {met, "its residual no longer fell, and the recomputed one had parted from it"};
      const Verdict verdict = arrived ? met : o.verdict;
      return {verdict, why_ended(verdict)};
    }
    if (looks) approach.seen(out.iterations, seen);
    keep_at_look(looks ? seen : std::sqrt(s_.history.back()) * system_.ratio(), out.iterations);
    if (!goes_on) {
      Range replacing("replace residuals");
      s_.replay(method_->replace);
    }
  }
}

// Between two stretches. What the loop carries stays as it is: A x is taken where the method computes one that it has used up.
bool Driver::has_parted() {
  if (method_->after_all) s_.replay(method_->after_all);
  const double followed = system_.residual(), seen = system_.look(method_->r);
  best_.verified(followed);
  return followed > parted * seen || seen > parted * followed;
}

// Rounds of the loop until the next look. Callbacks count anew in each stretch.
int Driver::stretch(int wanted, int left) const {
  const int steps = method_->steps(), whole = watcher_ ? rounds(watcher_->every, steps) : 1;
  return std::min(left / steps, rounds(wanted, whole * steps) * whole);
}

// In the place of the loop's own checks, which count anew in each stretch, and come in none that is shorter than what lies
// between two of them.
void Driver::keep_at_look(double norm, int iteration) {
  if (iteration - kept_ < check_every_ || !best_.is_promising(norm)) return;
  if (method_->after_all) s_.replay(method_->after_all);
  keep(norm, iteration);
}

// A test that stands first tells of the iteration before: of none, or of what a loop before this one has told, or could not.
void Driver::tell_history(int begun, double norm, SolveOutcome& out) const {
  const int steps = method_->steps();
  const double b_norm = system_.in_loop(out.b_norm);
  std::size_t after = std::size_t(begun + (method_->tests_first ? 0 : steps));
  for (double rr : s_.history) {
    if (after > out.history.size()) {
      out.history.resize(after - 1, out.history.empty() ? norm / out.b_norm : out.history.back());
      out.history.push_back(std::sqrt(rr) / b_norm);
    }
    after += std::size_t(steps);
  }
}

// No test comes after the last iteration of a stretch, where it stands first, and the next loop begins with another residual.
void Driver::tell_last(double norm, SolveOutcome& out) {
  if (out.history.size() < std::size_t(out.iterations)) out.history.push_back(norm / out.b_norm);
}

// A loop that ends well in its test does not come to the look at the end of its body.
void Driver::look_at_last(const Outcome& o, int iterations) {
  if (!watcher_ || o.verdict != met || !watcher_->is_due(iterations)) return;
  s_.set(seen_rr_, s_.history.back());
  s_.replay(look_);
}

// How the solve goes on; empty: not at all. What broke down would do so again, and gives way at once to what is left.
std::optional<Recovery::Kind> Driver::recovery(Verdict verdict, double norm, double before, const SolveOutcome& out) {
  if (verdict == asked_to_stop) return {};
  if (verdict == broke_down)
    if (const auto kind = method_->fall_back()) return kind;
  if (may_restart(verdict, norm, before, out.recoveries.size())) return Recovery::Kind::residual_replaced;
  return method_->fall_back();
}

void Driver::keep(double norm, int iteration) {
  kept_ = iteration;
  best_.promise(norm);
}

}  // namespace sordino
