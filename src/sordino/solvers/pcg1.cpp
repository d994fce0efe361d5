#include "sordino/solvers/pcg1.hpp"

namespace sordino {
namespace pcg1 {

Pcg1::Pcg1(const Problem& k) {
  auto& q = k.s;
  Vec x = k.x, s = k.Ax, p = k.operand("p"), z = k.M ? k.M->result(q, "z") : k.vector("z");
  Scal gamma = q.scalar("(r,z)"), gamma_old = q.scalar("(r,z) old"), sp = q.scalar("(s,p)"), alpha = q.scalar("alpha");
  rr = q.scalar("(r,r)");
  r = k.preconditioned("r");
  levels_out = k.is_singular;

  begin = q.record([&] {
    if (k.M) {
      k.run_for_M(cg::Defect{.b = k.b, .Ax = s, .r = r}, r);
      k.M->apply(q, r, z, start(dot(r, z) >> gamma));
      q.copy(z, p, push(p));
    } else {
      q.run(cg::Begin{.b = k.b, .Ax = s, .d = k.d, .r = r, .p = p}, start(gamma), push(p));
    }
    q.wait(gamma);
  });
  iterate = k.loop({}, rr, [&] {
    k.A.apply(q, p, s);
    q.dots(dot(s, p) >> sp);
    q.wait(sp);
    k.run_for_M(pcg::Residual{.gamma = gamma, .sp = sp, .alpha = alpha, .gamma_old = gamma_old, .s = s, .r = r}, r);
    q.run(pcg::Advance{.alpha = alpha, .p = p, .x = x});
    k.M ? k.M->apply(q, r, z) : void(q.run(Scaled{.from = r, .to = z, .d = k.d}));
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
