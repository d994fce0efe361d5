#include "sordino/solvers/cg.hpp"

namespace sordino {
namespace cg {

Cg::Cg(const Problem& k) {
  auto& s = k.s;
  auto& A = k.A;
  Vec b = k.b, x = k.x, w = k.Ax, r = k.vector("r"), p = k.operand("p");
  Scal wp = s.scalar("(w,p)"), rz = s.scalar("(r,z)"), rz_old = s.scalar("(r,z) old");
  rr = s.scalar("(r,r)");

  begin = s.record([&] {
    s.run(Begin{.b = b, .Ax = w, .d = k.d, .r = r, .p = p}, start(rz_old), push(p));  // l.1
    s.wait(rz_old);
  });
  iterate = k.loop({.scalars = {{rz, rz_old}}}, rr, [&] {
    A.apply(s, p, w, start(dot(w, p) >> wp));                                                  // l.3
    s.run(Residual{.rz = rz_old, .wp = finish(wp), .w = w, .d = k.d, .r = r}, start(rz, rr));  // l.4, 6, 7
    s.exit_if(ConvergedSpd{finish(rr), wp, k.target, k.bound});
    s.run(Direction{.rz = rz, .rz_old = rz_old, .wp = wp, .r = r, .d = k.d, .x = x, .p = p}, push(p));  // l.5, 8, 9
  });
  end = s.record([&] { s.run(LastStep{.rz = rz_old, .wp = wp, .p = p, .x = x}); });  // 001-E2
}

}  // namespace cg

template <>
std::unique_ptr<Method> make<cg::Cg>(const Problem& problem) {
  return std::make_unique<cg::Cg>(problem);
}

}  // namespace sordino
