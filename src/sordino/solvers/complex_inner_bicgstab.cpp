#include "sordino/solvers/complex_inner_bicgstab.hpp"

#include <utility>

#include "sordino/linalg/epilogue.hpp"

namespace sordino {

using namespace complex_bicgstab;

ComplexInnerBicgstab::ComplexInnerBicgstab(Rank& rank, std::unique_ptr<Operator> A, NumberScaling inverse_diagonal, int steps)
    : A_(std::move(A)),
      d_(inverse_diagonal),
      steps_(steps),
      first_rho_(rank, "inner rho"),
      rho_{{rank, "inner rho, even"}, {rank, "inner rho, odd"}},
      rv_(rank, "inner (rh,v)"),
      st_(rank, "inner (s,t)"),
      zeta_(rank, "inner zeta") {
  auto vector = [&](const char* name) { return rank.vector(name, space()); };
  r_ = vector("inner r");
  rh_ = vector("inner rh");
  p_ = vector("inner p");
  s_ = vector("inner s");
  v_ = A_->result(rank, "inner v");
  t_ = A_->result(rank, "inner t");
  ph_ = A_->operand(rank, "inner M^-1 p");
  sh_ = A_->operand(rank, "inner M^-1 s");
  for (int k : {0, 1}) rr_[k] = rank.scalar(k == 0 ? "inner (r,r), even" : "inner (r,r), odd");
  tt_ = rank.scalar("inner (t,t)");
}

void ComplexInnerBicgstab::apply(Rank& rank, Vec b, Vec x, const StartDots& epilogue) const {
  rank.run(complex_inner_bicgstab::Begin{.b = b, .d = d_, .x = x, .r = r_, .rh = rh_, .p = p_, .ph = ph_},
           start(first_rho_.re, first_rho_.im), push(ph_));
  for (int k = 0; k < steps_; k++) {
    const ScalNumber rho = k == 0 ? first_rho_ : rho_[(k + 1) % 2], rho_new = rho_[k % 2];
    const Get rho_here = k == 0 ? Get(finish(rho.re)) : Get(rho.re);
    A_->apply(rank, ph_, v_, start(dot(v_, rh_) >> rv_.re, dot(v_, rh_, Turn::by_i) >> rv_.im));
    rank.run(HalfStep{.rho_re = rho_here,
                      .rho_im = rho.im,
                      .rv_re = finish(rv_.re),
                      .rv_im = rv_.im,
                      .v = v_,
                      .r = r_,
                      .d = d_,
                      .s = s_,
                      .sh = sh_},
             push(sh_));
    A_->apply(rank, sh_, t_, start(dot(t_, s_) >> st_.re, dot(t_, s_, Turn::by_i) >> st_.im, dot(t_, t_) >> tt_));
    rank.run(Step{.rho_re = rho.re,
                  .rho_im = rho.im,
                  .rv_re = rv_.re,
                  .rv_im = rv_.im,
                  .st_re = finish(st_.re),
                  .st_im = st_.im,
                  .tt = tt_,
                  .zeta_re = zeta_.re,
                  .zeta_im = zeta_.im,
                  .ph = ph_,
                  .sh = sh_,
                  .s = s_,
                  .t = t_,
                  .rh = rh_,
                  .x = x,
                  .r = r_},
             start(rho_new.re, rho_new.im, rr_[k % 2]));
    if (k + 1 == steps_) break;
    rank.run(Direction{.new_re = finish(rho_new.re),
                       .new_im = rho_new.im,
                       .rho_re = rho.re,
                       .rho_im = rho.im,
                       .rv_re = rv_.re,
                       .rv_im = rv_.im,
                       .zeta_re = zeta_.re,
                       .zeta_im = zeta_.im,
                       .r = r_,
                       .v = v_,
                       .d = d_,
                       .p = p_,
                       .ph = ph_},
             push(ph_));
  }
  rank.wait(rho_[(steps_ + 1) % 2].re);
  record_dots(rank, epilogue);
}

}  // namespace sordino
