#include "sordino/solvers/cg_fused.hpp"

namespace sordino {
namespace cg_fused {

CgFused::CgFused(const Problem& k) {
  auto& s = k.s;
  auto& A = k.A;
  const bool fused = A.fuses_direction(), preconditioned = k.d.id >= 0;
  Vec b = k.b, x = k.x, w = k.Ax, p = k.operand("p"), p_new = k.operand("p new");
  Vec r = preconditioned ? k.vector("r") : k.operand("r"), kept = preconditioned ? k.operand("z") : Vec{};
  Vec z = preconditioned ? kept : r;
  Scal rz = s.scalar("(r,z)"), rz_old = s.scalar("(r,z) old"), wp = s.scalar("(w,p)");
  rr = s.scalar("(r,r)");
  tests_first = true;
  // Where rows make their neighbours' p_new themselves, they need these rows' z and p.
  auto run = [&](auto step) { fused ? s.run(step, start(rz, rr), push(z), push(p_new)) : s.run(step, start(rz, rr)); };

  begin = s.record([&] {
    Begin first{.b = b, .Ax = w, .d = k.d, .r = r, .z = kept, .p = p, .rz_old = rz_old, .wp = wp};
    fused ? s.run(first, start(rz, rr), push(z), push(p)) : s.run(first, start(rz, rr));
  });
  iterate = k.loop({.vectors = {{p_new, p}}, .scalars = {{rz, rz_old}}}, rr, [&] {
    s.exit_if(ConvergedSpd{finish(rr), wp, k.target, k.bound});
    if (fused) {
      A.apply_direction(s, {.rz = rz, .rz_old = rz_old, .z = z, .p = p, .p_new = p_new}, w, wp);
    } else {
      s.run(Direction{.rz = rz, .rz_old = rz_old, .z = z, .p = p, .p_new = p_new}, push(p_new));
      A.apply(s, p_new, w, start(dot(w, p_new) >> wp));
    }
    run(Step{.rz = rz, .wp = finish(wp), .p = p_new, .w = w, .d = k.d, .x = x, .r = r, .z = kept});
  });
}

}  // namespace cg_fused

template <>
std::unique_ptr<Method> make<cg_fused::CgFused>(const Problem& problem) {
  return std::make_unique<cg_fused::CgFused>(problem);
}

}  // namespace sordino
