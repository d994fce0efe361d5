#include "sordino/solvers/linear_system.hpp"

#include <cmath>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"

namespace sordino {

LinearSystem::LinearSystem(Rank& rank, const Operator& A, const SymmetricScaling* scaling, const Nullspace& nullspace)
    : b(rank.vector("b", A.space())),
      x(A.operand(rank, "x")),
      Ax(A.result(rank, "A x")),
      s_(rank),
      scaling_(scaling),
      bb_(rank.scalar("(b,b)")),
      rr_{rank.scalar("(b-Ax,b-Ax)"), {}},
      seen_{rank.scalar("(r,r) at hand"), {}} {
  zero_x_ = s_.record([&] { s_.run(Zero{x}); });
  norm_of_b_ = s_.record([&] {
    s_.dots(dot(b, b) >> bb_);
    s_.wait(bb_);
  });
  if (scaling_) record_scaling();
  residual_ = s_.record([&] {
    s_.run(Nothing{}, push(x));
    A.apply(s_, x, Ax);
    scaling_ ? s_.run(ResidualsOfBoth{.b = b, .Ax = Ax, .S = scaling_->S, .y = x}, start(rr_.of_caller, rr_.in_loop, dx2_))
             : s_.run(TrueResidual{.b = b, .Ax = Ax}, start(rr_.of_caller));
    s_.wait(rr_.of_caller);
  });
  if (!nullspace.empty()) make_projectors(nullspace);
}

void LinearSystem::record_scaling() {
  rr_.in_loop = s_.scalar("(b-Ax,b-Ax) scaled");
  seen_.in_loop = s_.scalar("(r,r) at hand, scaled");
  dx2_ = s_.scalar("(diag(A) x,diag(A) x)");
  scale_b_ = s_.record([&] { s_.run(ScaleRows{.S = scaling_->S, .v = b}); });
  x_to_y_ = s_.record([&] { s_.run(UnscaleRows{.S = scaling_->S, .v = x}); });
  y_to_x_ = s_.record([&] { s_.run(ScaleRows{.S = scaling_->S, .v = x}); });
}

void LinearSystem::make_projectors(const Nullspace& nullspace) {
  const int space = s_.vectors()[std::size_t(b.id)].space;
  null_ = std::make_unique<Projector>(s_, space, nullspace.right, "null vector");
  project_x_ = s_.record([&] { null_->record(x); });
  if (nullspace.left.count > 0)
    null_of_transpose_ = std::make_unique<Projector>(s_, space, nullspace.left, "null vector of the transpose");
  project_b_ = s_.record([&] { (null_of_transpose_ ? *null_of_transpose_ : *null_).record(b); });
}

void LinearSystem::rehearse(Rehearsal& all) {
  for (Recorded* r : {&zero_x_, &norm_of_b_, &residual_, &project_x_, &project_b_, &scale_b_, &x_to_y_, &y_to_x_})
    if (*r) all.replay(*r);
}

void LinearSystem::take_b(const double* given) {
  s_.write(b, given);
  s_.replay(norm_of_b_);
  b_norm_ = std::sqrt(s_.get(bb_));
  if (null_) project_b();
  if (scaling_) s_.replay(scale_b_);
}

// b is projected twice: the second time takes out what the first rounded. A rest of so few digits is nothing but rounding.
void LinearSystem::project_b() {
  constexpr double nothing = 1e-14;
  const double whole = b_norm_;
  s_.replay(project_b_);
  outside_norm_ = (null_of_transpose_ ? *null_of_transpose_ : *null_).taken();
  s_.replay(project_b_);
  s_.replay(norm_of_b_);
  b_norm_ = std::sqrt(s_.get(bb_));
  if (b_norm_ <= nothing * whole) b_norm_ = 0;
}

void LinearSystem::start_from(const double* x0) {
  if (!x0) {
    s_.replay(zero_x_);
    return;
  }
  s_.write(x, x0);
  if (!scaling_) return;
  if (null_) s_.replay(project_x_);
  s_.replay(x_to_y_);
}

// No vector of the caller's nullspace is orthogonal to y: x will be, when it is handed out. One rounding of A x is of the size
// of u || |A| |x| ||, which is about 2 u ||diag(A) x|| where a row's other entries come to as much as its diagonal; the product
// with scaled entries and x, each of which is rounded again, was never seen to be off by twice that.
double LinearSystem::residual() {
  if (null_ && !scaling_) s_.replay(project_x_);
  return residual_again();
}

double LinearSystem::residual_again() {
  constexpr double roundings = 2, both_parts_of_a_row = 2;
  Range range("verify");
  const double norm = take(residual_, rr_);
  if (scaling_) unsure_ = roundings * both_parts_of_a_row * 0x1p-53 * std::sqrt(s_.get(dx2_));
  return norm;
}

void LinearSystem::hand_out(const double* x0, bool iterated) {
  if (!scaling_) return;
  if (x0 && !iterated)
    s_.write(x, x0);
  else
    s_.replay(y_to_x_);
  if (null_) s_.replay(project_x_);
}

double LinearSystem::look(Vec r) {
  Range range("look at the residual");
  return take(looks_.at(r.id), seen_);
}

void LinearSystem::record_look(Vec r) {
  if (r.id < 0) throw Error(Errc::unsupported, "the method does not name its residual, which is to be looked at");
  if (looks_.count(r.id)) return;
  looks_[r.id] = s_.record([&] {
    if (scaling_)
      s_.run(NormsOfBoth{.r = r, .S = scaling_->S}, start(seen_.of_caller, seen_.in_loop));
    else
      s_.dots(dot(r, r) >> seen_.of_caller);
    s_.wait(seen_.of_caller);
  });
}

void LinearSystem::rehearse_look(Rehearsal& all, Vec r) { all.replay(looks_.at(r.id)); }

void LinearSystem::rehearse_residual(Rehearsal& all) {
  if (null_ && !scaling_) all.replay(project_x_);
  all.replay(residual_);
}

double LinearSystem::take(Recorded& norms, const Squares& squares) {
  s_.replay(norms);
  const double norm = std::sqrt(s_.get(squares.of_caller));
  if (!scaling_) return norm;
  const double known = std::sqrt(s_.get(squares.in_loop));
  if (known > 0 && std::isfinite(norm / known)) ratio_ = norm / known;
  return norm;
}

}  // namespace sordino
