#include "sordino/solvers/pcg1.hpp"

namespace sordino {
namespace pcg1 {

Pcg1::Pcg1(const Problem& k) {
  auto& q = k.s;
  Vec x = k.x, s = k.Ax, z = k.vector("z"), p = k.operand("p");
  Scal gamma = q.scalar("(r,z)"), gamma_old = q.scalar("(r,z) old"), sp = q.scalar("(s,p)"), alpha = q.scalar("alpha");
  rr = q.scalar("(r,r)");
  r = k.vector("r");
  levels_out = k.is_singular;

  begin = q.record([&] {
    q.run(cg::Begin{.b = k.b, .Ax = s, .d = k.d, .r = r, .p = p}, start(gamma), push(p));
    q.wait(gamma);
  });
  iterate = k.loop({}, rr, [&] {
    k.A.apply(q, p, s);
    q.dots(dot(s, p) >> sp);
    q.wait(sp);
    q.run(pcg::Residual{.gamma = gamma, .sp = sp, .alpha = alpha, .gamma_old = gamma_old, .s = s, .r = r});
    q.run(pcg::Advance{.alpha = alpha, .p = p, .x = x});
    q.run(Scaled{.from = r, .to = z, .d = k.d});
    q.dots(dot(r, z) >> gamma);
    q.wait(gamma);
    q.dots(dot(r, r) >> rr);
    q.exit_if(ConvergedSpd{finish(rr), sp, k.target, k.bound});
    q.run(Direction{.gamma = gamma, .gamma_old = gamma_old, .z = z, .p = p}, push(p));
  });
}

}  // namespace pcg1

template <>
std::unique_ptr<Method> make<pcg1::Pcg1>(const Problem& problem) {
  return std::make_unique<pcg1::Pcg1>(problem);
}

}  // namespace sordino
