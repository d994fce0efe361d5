#include "sordino/solvers/bicgstab_scalars.hpp"

#include "sordino/linalg/scalar_task.hpp"

namespace sordino::bicgstab {

Scalars::Scalars(const Problem& k) : k_(k) {
  if (!k.scalars_by_host) return;
  one_ = k.s.scalar("one", 1);
  alpha_ = k.s.scalar("alpha by the host");
  zeta_ = k.s.scalar("zeta by the host");
  beta_ = k.s.scalar("beta by the host");
}

Quotient Scalars::alpha(Scal rho, Scal rv) const {
  if (!k_.scalars_by_host) return {rho, finish(rv)};
  scalar_task(k_.s, "alpha", {rho, finish(rv)}, alpha_, [](const auto& of) { return ratio(of[0], of[1]); });
  return {alpha_, one_};
}

Quotient Scalars::last_alpha(Scal rho, Scal rv) const {
  if (k_.scalars_by_host) return {alpha_, one_};
  return {rho, rv};
}

Quotient Scalars::zeta(Scal ts, Scal tt) const {
  if (!k_.scalars_by_host) return {finish(ts), tt};
  scalar_task(k_.s, "zeta", {finish(ts), tt}, zeta_, [](const auto& of) { return ratio(of[0], of[1]); });
  return {zeta_, one_};
}

void Scalars::turn(const Direction& step, Vec p, Vec ph) const {
  if (!k_.scalars_by_host) return k_.run_and_precondition(step, p, ph);
  scalar_task(k_.s, "beta", {step.rho_new, step.rho, alpha_, zeta_}, beta_,
              [](const auto& of) { return ratio(of[2], of[3]) * ratio(of[0], of[1]); });
  k_.run_and_precondition(
      DirectionBy{.beta = beta_, .zeta = zeta_, .r = step.r, .v = step.v, .d = step.d, .p = step.p, .ph = step.ph}, p, ph);
}

const MethodEntry& by_host() {
  static const MethodEntry entry = [] {
    MethodEntry made = method(Bicgstab::name);
    made.summary = "BiCGStab whose scalars the host computes";
    made.complex = Factors::real;
    made.make = make_by_host<make<Bicgstab>>;
    return made;
  }();
  return entry;
}

}  // namespace sordino::bicgstab
