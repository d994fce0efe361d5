#include "sordino/solvers/cg.hpp"

namespace sordino {
namespace cg {

Cg::Cg(const Problem& k, const Lent& lent) {
  auto& s = k.s;
  Names names{.w = k.Ax,
              .r = lent.r.id < 0 ? k.preconditioned("r") : lent.r,
              .p = lent.p.id < 0 ? k.operand("p") : lent.p,
              .z = lent.z.id < 0 && k.M ? k.M->result(s, "z") : lent.z,
              .wp = s.scalar("(w,p)"),
              .rz = s.scalar("(r,z)"),
              .rz_old = s.scalar("(r,z) old")};
  rr = s.scalar("(r,r)");
  r = names.r;
  levels_out = k.is_singular;
  k.M ? record_with_operator(k, names) : record(k, names);
  end = s.record([&] { s.run(LastStep{.rz = names.rz_old, .wp = names.wp, .p = names.p, .x = k.x}); });  // 001-E2
}

void Cg::record(const Problem& k, const Names& names) {
  auto& s = k.s;
  auto& A = k.A;
  const Vec x = k.x;
  const LastUse last_use = k.last_use();
  const auto& [w, r, p, z, wp, rz, rz_old] = names;
  begin = s.record([&] {
    s.run(Begin{.b = k.b, .Ax = w, .d = k.d, .r = r, .p = p}, start(rz_old), push(p));  // l.1
    s.wait(rz_old);
  });
  iterate = k.loop({.scalars = {{rz, rz_old}}}, rr, [&] {
    A.apply(s, p, w, start(dot(w, p) >> wp));  // l.3
    s.run(Residual{.rz = rz_old, .wp = finish(wp), .w = w, .d = k.d, .r = r, .last_use = last_use},
          start(rz, rr));  // l.4, 6, 7
    s.exit_if(ConvergedSpd{finish(rr), wp, k.target, k.bound});
    s.run(Direction{.rz = rz, .rz_old = rz_old, .wp = wp, .r = r, .d = k.d, .x = x, .p = p, .last_use = last_use},
          push(p));  // l.5, 8, 9
  });
}

void Cg::record_with_operator(const Problem& k, const Names& names) {
  auto& s = k.s;
  auto& A = k.A;
  const Vec x = k.x;
  const LastUse last_use = k.last_use();
  const auto& [w, r, p, z, wp, rz, rz_old] = names;
  begin = s.record([&] {
    k.run_for_M(Defect{.b = k.b, .Ax = w, .r = r}, r);
    k.M->apply(s, r, z, start(dot(r, z) >> rz_old));
    s.copy(z, p, push(p));
    s.wait(rz_old);
  });
  iterate = k.loop({.scalars = {{rz, rz_old}}}, rr, [&] {
    A.apply(s, p, w, start(dot(w, p) >> wp));
    k.run_for_M(ResidualAlone{.rz = rz_old, .wp = finish(wp), .w = w, .r = r}, r);
    k.M->apply(s, r, z, start(dot(r, z) >> rz, dot(r, r) >> rr));
    s.exit_if(ConvergedSpd{finish(rr), wp, k.target, k.bound});
    s.run(Direction{.rz = rz, .rz_old = rz_old, .wp = wp, .r = z, .d = {}, .x = x, .p = p, .last_use = last_use}, push(p));
  });
}

}  // namespace cg

template <>
std::unique_ptr<Method> make<cg::Cg>(const Problem& problem) {
  return std::make_unique<cg::Cg>(problem);
}

}  // namespace sordino
