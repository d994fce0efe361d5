#include "sordino/solvers/fcg.hpp"

namespace sordino {
namespace fcg {

Fcg::Fcg(const Problem& k) {
  auto& s = k.s;
  Vec x = k.x, w = k.Ax, p = k.operand("p"), z = k.M ? k.M->result(s, "z") : k.vector("z");
  Scal wp = s.scalar("(w,p)"), rz = s.scalar("(r,z)"), rz_old = s.scalar("(r,z) old"), wz = s.scalar("(w,z)");
  rr = s.scalar("(r,r)");
  r = k.preconditioned("r");
  levels_out = k.is_singular;
  const LastUse last_use = k.last_use();

  begin = s.record([&] {
    if (k.M) {
      k.run_for_M(cg::Defect{.b = k.b, .Ax = w, .r = r}, r);
      k.M->apply(s, r, z, start(dot(r, z) >> rz_old));
      s.copy(z, p, push(p));
    } else {
      s.run(cg::Begin{.b = k.b, .Ax = w, .d = k.d, .r = r, .p = p}, start(rz_old), push(p));
    }
    s.wait(rz_old);
  });
  iterate = k.loop({.scalars = {{rz, rz_old}}}, rr, [&] {
    k.A.apply(s, p, w, start(dot(w, p) >> wp));
    if (k.M) {
      k.run_for_M(cg::ResidualAlone{.rz = rz_old, .wp = finish(wp), .w = w, .r = r}, r);
      k.M->apply(s, r, z, start(dot(r, z) >> rz, dot(r, r) >> rr, dot(w, z) >> wz));
    } else {
      s.run(Residual{.rz = rz_old, .wp = finish(wp), .w = w, .d = k.d, .r = r, .z = z, .last_use = last_use},
            start(rz, rr, wz));
    }
    s.exit_if(ConvergedFlexible{finish(rr), rz, wp, k.target, k.bound});
    s.run(Direction{.rz_old = rz_old, .wp = wp, .wz = wz, .z = z, .x = x, .p = p, .last_use = last_use}, push(p));
  });
  end = s.record([&] { s.run(cg::LastStep{.rz = rz_old, .wp = wp, .p = p, .x = x}); });
}

}  // namespace fcg

template <>
std::unique_ptr<Method> make<fcg::Fcg>(const Problem& problem) {
  return std::make_unique<fcg::Fcg>(problem);
}

}  // namespace sordino
