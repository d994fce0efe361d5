#include "sordino/solvers/columns_driver.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/solvers/columns_steps.hpp"
#include "sordino/solvers/endings.hpp"
#include "sordino/solvers/recourse.hpp"

namespace sordino::columns {
namespace {

bool any_of(const std::vector<bool>& chosen) { return std::find(chosen.begin(), chosen.end(), true) != chosen.end(); }

}  // namespace

ColumnsDriver::ColumnsDriver(Rank& rank, const Operator& A, Scaling d, int check_every)
    : s_(rank), A_(A), all_(record_bicgstab(rank, A, d, check_every)) {
  interleaved_.resize(std::size_t(s_.space(A.space()).rows));
  rehearse();
}

// As Driver::rehearse: the loop is left after stretches, and every one of them may be the last.
void ColumnsDriver::rehearse() {
  Range range("rehearse");
  Rehearsal all(s_);
  for (Recorded* r : {&all_.norms, &all_.residual, &all_.keep, &all_.swap}) all.replay(*r);
  all.replay(all_.way.begin);
  for (int turn = 0; turn <= all_.way.iterate.recording().period; turn++) all.replay_stretch(all_.way.iterate, 1);
  all.drop_carried();
}

template <class F>
ColumnsDriver::Chosen ColumnsDriver::those(const F& f) const {
  Chosen chosen;
  for (const Column& c : columns_) chosen.push_back(f(c));
  return chosen;
}

std::vector<SolveOutcome> ColumnsDriver::solve(const std::vector<const double*>& b, const std::vector<const double*>& x0,
                                               const SolveControl& control) {
  if (b.empty() || b.size() > std::size_t(all_.count) || x0.size() != b.size())
    bad_argument(std::to_string(b.size()) + " columns, and " + std::to_string(x0.size()) + " first guesses, for a solver of " +
                 std::to_string(all_.count));
  begin(b, x0, control);
  while (close_spent(control.max_iterations)) {
    iterate(control.max_iterations);
    verify();
    Chosen anew(columns_.size());
    for (std::size_t k = 0; k < columns_.size(); k++) anew[k] = columns_[k].is_open && begins_anew(k, control);
    replay_of(anew, all_.keep);  // verified, whatever has been promised
  }
  settle(x0);
  std::vector<SolveOutcome> outcomes;
  for (Column& c : columns_) outcomes.push_back(std::move(c.out));
  return outcomes;
}

void ColumnsDriver::begin(const std::vector<const double*>& b, const std::vector<const double*>& x0,
                          const SolveControl& control) {
  s_.reset_names();
  s_.stop_seen = false;
  columns_.assign(b.size(), {});
  write(all_.b, b);
  for (int k = 0; k < all_.count; k++) s_.set(all_.ended[std::size_t(k)], under_way);
  s_.replay(all_.norms);
  std::vector<const double*> from = x0;
  for (std::size_t k = 0; k < columns_.size(); k++) {
    Column& c = columns_[k];
    c.out.b_norm = std::sqrt(s_.get(all_.bb[k]));
    c.target = c.aim = std::max(control.rtol * c.out.b_norm, control.atol);
    if (c.out.b_norm > 0 || std::isnan(c.out.b_norm)) continue;
    from[k] = nullptr;
    c.out.reason = "the right-hand side is zero, and so is the solution";
  }
  write(all_.x, from);
  const std::vector<double> norms = residuals();
  for (std::size_t k = 0; k < columns_.size(); k++) {
    Column& c = columns_[k];
    c.norm = c.first = norms[k];
    c.is_open = !c.is_met();
    s_.set(all_.bound[k], square(divergence * std::max(c.norm, c.out.b_norm)));
    s_.set(all_.best_rr[k], square(c.norm));
  }
  replay_of(Chosen(columns_.size(), true), all_.keep);
}

/// Whether any is left that may iterate.
bool ColumnsDriver::close_spent(int max_iterations) {
  bool left = false;
  for (Column& c : columns_) {
    if (c.is_open && c.out.iterations >= max_iterations) {
      c.out.status = judge(proceed, c.out.reason);
      c.is_open = false;
    }
    left |= c.is_open;
  }
  return left;
}

/// A run of the loop, of all open columns, in stretches that the log has room for.
void ColumnsDriver::iterate(int max_iterations) {
  Range range("iterate");
  for (std::size_t k = 0; k < std::size_t(all_.count); k++) {
    const bool takes_part = k < columns_.size() && columns_[k].is_open;
    s_.set(all_.ended[k], takes_part ? under_way : no_part);
    if (!takes_part) continue;
    columns_[k].before = columns_[k].norm;
    columns_[k].verdict = proceed;
    s_.set(all_.target[k], square(columns_[k].aim));
  }
  s_.replay(all_.way.begin);
  for (bool over = false; !over;) {
    int most = all_.rounds;
    for (std::size_t k = 0; k < columns_.size(); k++)
      if (s_.get(all_.ended[k]) == under_way) most = std::min(most, max_iterations - columns_[k].out.iterations);
    s_.history.clear();
    s_.set(all_.round, 0);
    const Outcome o = s_.replay_stretch(all_.way.iterate, most);
    over = take_log(max_iterations, o.verdict);
  }
  s_.drop_carried(all_.way.iterate);
  s_.reset_names();
}

/// What a stretch has said of the columns; whether it was the last of this run.
bool ColumnsDriver::take_log(int max_iterations, Verdict verdict) {
  const int rounds = int(s_.get(all_.round));
  std::vector<double> log(std::size_t(all_.rounds * all_.count));
  s_.read(all_.log, log.data());
  bool over = true;
  for (std::size_t k = 0; k < columns_.size(); k++) {
    Column& c = columns_[k];
    for (int round = 0; round < rounds; round++) {
      const double rr = log[std::size_t(round * all_.count) + k];
      if (rr == -1) break;
      c.out.history.push_back(std::sqrt(rr) / c.out.b_norm);
      c.out.iterations++;
    }
    const double ended = s_.get(all_.ended[k]);
    if (ended > under_way) c.verdict = Verdict(int(ended));
    if (ended == under_way && verdict == asked_to_stop) c.verdict = asked_to_stop;
    const bool goes_on = ended == under_way && c.out.iterations < max_iterations;
    if (ended == under_way && !goes_on) s_.set(all_.ended[k], no_part);
    over &= !goes_on;
  }
  return over || verdict != proceed;
}

/// The residuals of x that the loop has left, or of the better x that it promised where its residual grew beyond bounds.
void ColumnsDriver::verify() {
  const std::vector<double> norms = residuals();
  for (std::size_t k = 0; k < columns_.size(); k++) columns_[k].norm = norms[k];
  take_promised(those([](const Column& c) { return c.is_open && c.verdict == blew_up; }));
}

/// What follows for one column, as in Driver::solve.
bool ColumnsDriver::begins_anew(std::size_t k, const SolveControl& control) {
  Column& c = columns_[k];
  const char* why = why_ended(c.verdict);
  const double promised_rr = s_.get(all_.best_rr[k]);
  if (c.verdict == blew_up && (has_lost_touch(promised_rr, c.norm) || c.had_parted || c.norm <= attained * c.first))
    c.verdict = met, why = "it had run on into rounding";
  c.is_open = !c.is_met();
  if (!c.is_open || c.verdict == proceed) return false;
  if (!may_restart(c.verdict, c.norm, c.before, c.out.recoveries.size())) {
    c.is_open = false;
    c.out.status = judge(c.verdict, c.out.reason);
    if (c.verdict != asked_to_stop) return false;
    c.out.status = control.stop_reason();
    c.out.reason += why_stopped(c.out.status);
    return false;
  }
  c.had_parted |= c.verdict == met;
  s_.set(all_.best_rr[k], square(c.norm));
  c.aim *= tighten;
  if (c.out.iterations < control.max_iterations)
    c.out.recoveries.push_back({c.out.iterations, Recovery::Kind::residual_replaced, why, c.norm / c.out.b_norm});
  return true;
}

/// The best x of those that have not met their tolerance, and what is said of each column.
void ColumnsDriver::settle(const std::vector<const double*>& x0) {
  take_promised(those([](const Column& c) { return !c.is_met(); }));
  const Chosen worse = those([](const Column& c) { return !c.is_met() && !(c.norm <= c.first); });
  if (any_of(worse)) {  // a NaN, or all that was kept is worse than what the solve was given
    write(all_.best, x0);
    replay_of(worse, all_.swap);
    const std::vector<double> norms = residuals();
    for (std::size_t k = 0; k < columns_.size(); k++)
      if (worse[k]) columns_[k].norm = norms[k];
  }
  for (Column& c : columns_) {
    if (c.is_met()) {
      c.out.status = Status::converged;
      if (c.out.b_norm != 0) c.out.reason = "the recomputed residual meets the tolerance";
    }
    c.out.residual_norm = c.norm;
    if (c.out.b_norm != 0) c.out.reason += figures(c.out, c.target);
  }
}

/// x becomes the promised one, of those for which it has the smaller residual; A x is that of x.
void ColumnsDriver::take_promised(const Chosen& of) {
  Chosen tried = of;
  for (std::size_t k = 0; k < tried.size(); k++) tried[k] = of[k] && promises_more(s_.get(all_.best_rr[k]), columns_[k].norm);
  if (!any_of(tried)) return;
  replay_of(tried, all_.swap);
  const std::vector<double> norms = residuals();
  Chosen worse(tried.size());
  for (std::size_t k = 0; k < tried.size(); k++) {
    if (!tried[k]) continue;
    worse[k] = !is_better(norms[k], columns_[k].norm);
    if (!worse[k]) columns_[k].norm = norms[k];
  }
  if (!any_of(worse)) return;
  replay_of(worse, all_.swap);
  residuals();
}

std::vector<double> ColumnsDriver::residuals() {
  Range range("verify");
  s_.replay(all_.residual);
  std::vector<double> norms;
  for (std::size_t k = 0; k < columns_.size(); k++) norms.push_back(std::sqrt(s_.get(all_.true_rr[k])));
  return norms;
}

void ColumnsDriver::replay_of(const Chosen& of, Recorded& recorded) {
  if (!any_of(of)) return;
  for (std::size_t k = 0; k < std::size_t(all_.count); k++) s_.set(all_.chosen[k], k < of.size() && of[k]);
  s_.replay(recorded);
}

void ColumnsDriver::write(Vec v, const std::vector<const double*>& columns) {
  const std::size_t width = std::size_t(all_.count), rows = interleaved_.size() / width;
  for (std::size_t k = 0; k < width; k++) {
    const double* from = k < columns.size() ? columns[k] : nullptr;
    for (std::size_t i = 0; i < rows; i++) interleaved_[i * width + k] = from ? from[i] : 0;
  }
  s_.write(v, interleaved_.data());
}

void ColumnsDriver::read_solutions(const std::vector<double*>& x) {
  const std::size_t width = std::size_t(all_.count), rows = interleaved_.size() / width;
  s_.read(all_.x, interleaved_.data());
  for (std::size_t k = 0; k < x.size(); k++)
    for (std::size_t i = 0; i < rows; i++) x[k][i] = interleaved_[i * width + k];
}

}  // namespace sordino::columns
