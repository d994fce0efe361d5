#include "sordino/solvers/bicgstab.hpp"

#include "sordino/solvers/complex_bicgstab.hpp"

namespace sordino {
namespace bicgstab {

Bicgstab::Bicgstab(const Problem& k) {
  auto& q = k.s;
  auto& A = k.A;
  Vec x = k.x, rh = k.vector("rh"), v = k.vector("v"), t = k.Ax;
  Vec p = k.preconditioned("p"), s = k.preconditioned("s");
  Vec ph = k.operand("M^-1 p"), sh = k.operand("M^-1 s");
  Scal rho = q.scalar("rho"), rho_new = q.scalar("rho new"), rv = q.scalar("(rh,v)"), ts = q.scalar("(t,s)"),
       tt = q.scalar("(t,t)");
  Scal zeta = q.scalar("zeta"), shadow = q.scalar("(rh,rh)");
  rr = q.scalar("(r,r)");
  r = k.vector("r");

  begin = q.record([&] {
    k.run_and_precondition(Begin{.b = k.b, .Ax = t, .d = k.d, .r = r, .rh = rh, .p = p, .ph = ph}, p, ph, start(rho, shadow));
    q.wait(rho);
  });
  iterate = k.loop({.scalars = {{rho_new, rho}}}, rr, [&] {
    A.apply(q, ph, v, start(dot(rh, v) >> rv));  // v = A p
    k.run_and_precondition(                      // s = r - alpha v
        HalfStep{.rho = rho, .rv = finish(rv), .v = v, .r = r, .d = k.d, .s = s, .sh = sh}, s, sh);
    A.apply(q, sh, t, start(dot(t, s) >> ts, dot(t, t) >> tt));  // t = A s
    q.run(Step{.rho = rho,
               .rv = rv,
               .ts = finish(ts),
               .tt = tt,
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
    k.run_and_precondition(
        Direction{.rho_new = rho_new, .rho = rho, .rv = rv, .zeta = zeta, .r = r, .v = v, .d = k.d, .p = p, .ph = ph}, p, ph);
  });
}

}  // namespace bicgstab

template <>
std::unique_ptr<Method> make<bicgstab::Bicgstab>(const Problem& problem) {
  if (problem.is_complex()) return complex_bicgstab::make_method(problem);
  return std::make_unique<bicgstab::Bicgstab>(problem);
}

}  // namespace sordino
