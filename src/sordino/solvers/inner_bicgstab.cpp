#include "sordino/solvers/inner_bicgstab.hpp"

#include <utility>

#include "sordino/linalg/epilogue.hpp"

namespace sordino {

InnerBicgstab::InnerBicgstab(Rank& rank, std::unique_ptr<Operator> A, Scaling inverse_diagonal, int steps)
    : A_(std::move(A)), d_(inverse_diagonal), steps_(steps) {
  auto vector = [&](const char* name) { return rank.vector(name, space()); };
  r_ = vector("inner r");
  rh_ = vector("inner rh");
  p_ = vector("inner p");
  s_ = vector("inner s");
  v_ = A_->result(rank, "inner v");
  t_ = A_->result(rank, "inner t");
  ph_ = A_->operand(rank, "inner M^-1 p");
  sh_ = A_->operand(rank, "inner M^-1 s");
  first_rho_ = rank.scalar("inner rho");
  for (int k : {0, 1}) {
    rho_[k] = rank.scalar(k == 0 ? "inner rho, even" : "inner rho, odd");
    rr_[k] = rank.scalar(k == 0 ? "inner (r,r), even" : "inner (r,r), odd");
  }
  rv_ = rank.scalar("inner (rh,v)");
  ts_ = rank.scalar("inner (t,s)");
  tt_ = rank.scalar("inner (t,t)");
  zeta_ = rank.scalar("inner zeta");
}

void InnerBicgstab::apply(Rank& rank, Vec b, Vec x, const StartDots& epilogue) const {
  rank.run(inner_bicgstab::Begin{.b = b, .d = d_, .x = x, .r = r_, .rh = rh_, .p = p_, .ph = ph_}, start(first_rho_),
           push(ph_));
  for (int k = 0; k < steps_; k++) {
    const Scal rho = k == 0 ? first_rho_ : rho_[(k + 1) % 2], rho_new = rho_[k % 2];
    const Get rho_here = k == 0 ? Get(finish(rho)) : Get(rho);
    A_->apply(rank, ph_, v_, start(dot(rh_, v_) >> rv_));
    rank.run(bicgstab::HalfStep{.rho = rho_here, .rv = finish(rv_), .v = v_, .r = r_, .d = d_, .s = s_, .sh = sh_}, push(sh_));
    A_->apply(rank, sh_, t_, start(dot(t_, s_) >> ts_, dot(t_, t_) >> tt_));
    rank.run(bicgstab::Step{.rho = rho,
                            .rv = rv_,
                            .ts = finish(ts_),
                            .tt = finish(tt_),
                            .zeta = zeta_,
                            .ph = ph_,
                            .sh = sh_,
                            .s = s_,
                            .t = t_,
                            .rh = rh_,
                            .x = x,
                            .r = r_},
             start(rho_new, rr_[k % 2]));
    if (k + 1 == steps_) break;
    rank.run(
        bicgstab::Direction{
            .rho_new = finish(rho_new), .rho = rho, .rv = rv_, .zeta = zeta_, .r = r_, .v = v_, .d = d_, .p = p_, .ph = ph_},
        push(ph_));
  }
  rank.wait(rho_[(steps_ + 1) % 2]);
  record_dots(rank, epilogue);
}

}  // namespace sordino
