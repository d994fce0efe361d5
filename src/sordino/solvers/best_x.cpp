#include "sordino/solvers/best_x.hpp"

#include <cmath>

#include "sordino/solvers/driver_steps.hpp"
#include "sordino/solvers/recourse.hpp"

namespace sordino {

BestX::BestX(Rank& rank, LinearSystem& system)
    : promised_x(rank.vector("best x", rank.vectors()[std::size_t(system.x.id)].space)),
      promised_rr(rank.scalar("best (r,r)", HUGE_VAL)),
      s_(rank),
      system_(system) {
  const Vec x = system.x;
  swap_ = s_.record([&] { s_.run(Swap{.a = x, .b = promised_x}); });
  keep_promised_ = s_.record([&] { s_.run(Scaled{.from = x, .to = promised_x}); });
}

void BestX::keep_verified_apart() {
  const Vec x = system_.x;
  verified_x_ = s_.vector("verified x", s_.vectors()[std::size_t(x.id)].space);
  keep_verified_ = s_.record([&] { s_.run(Scaled{.from = x, .to = verified_x_}); });
  go_back_ = s_.record([&] { s_.run(Scaled{.from = verified_x_, .to = x}); });
}

void BestX::rehearse(Rehearsal& all) {
  for (Recorded* r : {&keep_promised_, &swap_, &keep_verified_, &go_back_})
    if (*r) all.replay(*r);
}
void BestX::rehearse_keep(Rehearsal& all) { all.replay(keep_promised_); }
void BestX::rehearse_verified(Rehearsal& all) {
  if (keep_verified_) all.replay(keep_verified_);
}

void BestX::begin(double norm) {
  least_ = HUGE_VAL;
  verified(norm);
  promise(norm);
}

void BestX::promise(double norm) {
  s_.set(promised_rr, square(system_.in_loop(norm)));
  s_.replay(keep_promised_);
}

bool BestX::is_promising(double norm) const { return square(system_.in_loop(norm)) < s_.get(promised_rr); }

void BestX::verified(double norm) {
  if (!keep_verified_ || !(norm < least_)) return;
  least_ = norm;
  s_.replay(keep_verified_);
}

void BestX::take_promised(double& norm) {
  if (!promises_more(s_.get(promised_rr), system_.in_loop(norm))) return;
  s_.replay(swap_);
  const double best = system_.residual();
  if (is_better(best, norm)) {
    norm = best;
  } else {
    s_.replay(swap_);
  }
}

void BestX::take_best(double& norm) {
  verified(norm);
  if (!go_back_ || norm <= least_) return;
  s_.replay(go_back_);
  norm = system_.residual_again();
}

bool BestX::has_lost_touch(double norm) const { return sordino::has_lost_touch(s_.get(promised_rr), system_.in_loop(norm)); }

}  // namespace sordino
