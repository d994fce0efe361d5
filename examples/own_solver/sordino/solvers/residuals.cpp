#include "sordino/solvers/residuals.hpp"

namespace sordino {
namespace residuals {

Residuals::Residuals(const Problem& k) {
  auto& s = k.s;
  auto& A = k.A;
  Vec x = k.x, w = k.Ax, z = k.operand("z"), p = k.vector("p"), q = k.vector("q");
  Scal rho = s.scalar("(z,w)"), rho_old = s.scalar("(z,w) old"), qq = s.scalar("(q,M^-1 q)");
  rr = s.scalar("(r,r)");
  r = k.vector("r");
  tests_first = true;

  auto product = [&] { A.apply(s, z, w, start(dot(z, w) >> rho, dot(r, r) >> rr)); };  // w = A z
  begin = s.record([&] {
    s.run(Begin{.rho_old = rho_old, .b = k.b, .Ax = w, .d = k.d, .r = r, .z = z, .p = p, .q = q}, push(z));
    product();
  });
  iterate = k.loop({.scalars = {{rho, rho_old}}}, rr, [&] {
    s.exit_if(ConvergedSpd{finish(rr), rho, k.target, k.bound});
    s.run(Direction{.rho = rho, .rho_old = rho_old, .z = z, .w = w, .d = k.d, .p = p, .q = q}, start(qq));
    s.run(Step{.rho = rho, .qq = finish(qq), .p = p, .q = q, .d = k.d, .x = x, .r = r, .z = z}, push(z));
    product();
  });
}

}  // namespace residuals

template <>
std::unique_ptr<Method> make<residuals::Residuals>(const Problem& problem) {
  return std::make_unique<residuals::Residuals>(problem);
}

}  // namespace sordino
