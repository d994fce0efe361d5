#include "sordino/solvers/bicgstab.hpp"

#include "sordino/solvers/bicgstab_scalars.hpp"
#include "sordino/solvers/complex_bicgstab.hpp"

namespace sordino {
namespace bicgstab {

namespace {

Vectors own(const Problem& k) {
  const Vec v = k.vector("v");
  return {.r = k.vector("r"),
          .rh = k.vector("rh"),
          .p = k.preconditioned("p"),
          .s = k.preconditioned("s"),
          .ph = k.operand("M^-1 p"),
          .sh = k.operand("M^-1 s"),
          .v = v,
          .v_old = v};
}

}  // namespace

Bicgstab::Bicgstab(const Problem& k) : Bicgstab(k, own(k)) {}

Bicgstab::Bicgstab(const Problem& k, const Vectors& vectors) {
  auto& q = k.s;
  auto& A = k.A;
  const auto& [r, rh, p, s, ph, sh, v, v_old] = vectors;
  const Vec x = k.x, t = k.Ax;
  Scal rho = q.scalar("rho"), rho_new = q.scalar("rho new"), rv = q.scalar("(rh,v)"), ts = q.scalar("(t,s)"),
       tt = q.scalar("(t,t)");
  Scal zeta = q.scalar("zeta"), shadow = q.scalar("(rh,rh)");
  rr = q.scalar("(r,r)");
  Way::r = r;

  const Scalars scalars(k);
  const bool gathers = q.space(A.space()).replicated;
  auto product = [&](Vec from, Vec to, auto... dots) {
    if (!gathers) return A.apply(q, from, to, start(dots...));
    A.apply(q, from, to);
    q.run(Gathered{to});
    q.dots(dots...);
  };
  begin = q.record([&] {
    k.run_and_precondition(Begin{.b = k.b, .Ax = t, .d = k.d, .r = r, .rh = rh, .p = p, .ph = ph}, p, ph, start(rho, shadow));
    q.wait(rho);
  });
  Rotation rotation{.scalars = {{rho_new, rho}}};
  if (v.id != v_old.id) rotation.vectors = {{v, v_old}};
  iterate = k.loop(rotation, rr, [&] {
    product(ph, v, dot(rh, v) >> rv);  // v = A p
    const Quotient alpha = scalars.alpha(rho, rv), last_alpha = scalars.last_alpha(rho, rv);
    k.run_and_precondition(  // s = r - alpha v
        HalfStep{.rho = alpha.above, .rv = alpha.below, .v = v, .r = r, .d = k.d, .s = s, .sh = sh}, s, sh);
    product(sh, t, dot(t, s) >> ts, dot(t, t) >> tt);  // t = A s
    const Quotient omega = scalars.zeta(ts, tt);
    q.run(Step{.rho = last_alpha.above,
               .rv = last_alpha.below,
               .ts = omega.above,
               .tt = omega.below,
               .zeta = zeta,
               .ph = ph,
               .sh = sh,
               .s = s,
               .t = t,
               .rh = rh,
               .x = x,
               .r = r},
          start(rho_new, rr));
    q.exit_if(ConvergedBi{finish(rr), rho_new, zeta, shadow, k.target, k.bound});
    scalars.turn(Direction{.rho_new = rho_new, .rho = rho, .rv = rv, .zeta = zeta, .r = r, .v = v, .d = k.d, .p = p, .ph = ph},
                 p, ph);
  });
}

}  // namespace bicgstab

template <>
std::unique_ptr<Method> make<bicgstab::Bicgstab>(const Problem& problem) {
  if (problem.is_complex()) return complex_bicgstab::make_method(problem);
  return std::make_unique<bicgstab::Bicgstab>(problem);
}

}  // namespace sordino
