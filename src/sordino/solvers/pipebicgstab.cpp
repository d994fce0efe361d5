#include "sordino/solvers/pipebicgstab.hpp"

namespace sordino {
namespace pipebicgstab {

Recurrences::Recurrences(const Problem& problem) : k(problem) {
  auto& s = k.s;
  r = k.vector("r"), rh = k.vector("rh"), p = k.vector("p"), q = k.vector("q"), y = k.vector("y");
  f = k.result("f"), g = k.result("g"), z = k.result("z"), t = k.result("t"), v = k.result("v");
  // A peer may send its rows of the next t and v while this rank still reads the last ones.
  bool gathered = s.space(k.A.space()).replicated;
  t_old = gathered ? k.result("t old") : t;
  v_old = gathered ? k.result("v old") : v;
  fh = k.operand("M^-1 f"), zh = k.operand("M^-1 z");
  rho = s.scalar("rho"), rho_old = s.scalar("rho old"), alpha = s.scalar("alpha"), alpha_old = s.scalar("alpha old");
  zeta = s.scalar("zeta"), qy = s.scalar("(q,y)"), yy = s.scalar("(y,y)"), shadow = s.scalar("(rh,rh)");
  rf = s.scalar("(rh,f)"), rg = s.scalar("(rh,g)"), rz = s.scalar("(rh,z)"), rr = s.scalar("(r,r)");
}

Rotation Recurrences::rotation() const {
  Rotation r{.scalars = {{rho, rho_old}, {alpha, alpha_old}}};
  if (t.id != t_old.id) r.vectors = {{t, t_old}, {v, v_old}};
  return r;
}

HalfStep Recurrences::half_step() const {
  return {.rho = rho,
          .rho_old = rho_old,
          .rf = rf,
          .rg = rg,
          .rz = rz,
          .alpha_old = alpha_old,
          .zeta = zeta,
          .alpha = alpha,
          .t = t_old,
          .v = v_old,
          .r = r,
          .f = f,
          .d = k.d,
          .p = p,
          .g = g,
          .z = z,
          .q = q,
          .y = y,
          .zh = zh};
}

Recorded Recurrences::begin() const {
  auto& s = k.s;
  return s.record([&] {
    s.run(Begin{.b = k.b, .Ax = k.Ax, .d = k.d, .r = r, .rh = rh, .zh = zh}, start(shadow), push(zh));
    k.A.apply(s, zh, f);  // f = B r
    s.wait(shadow);
    s.run(First{.rho_old = rho_old,
                .alpha = alpha_old,
                .zeta = zeta,
                .f = f,
                .r = r,
                .rh = rh,
                .d = k.d,
                .fh = fh,
                .p = p,
                .g = g,
                .z = z,
                .v = v_old},
          five(), push(fh));
    k.A.apply(s, fh, t_old);  // t = B f
  });
}

// Operands alternate between zh and fh: pushing one is safe once the other's ghosts, sent after it was read, have arrived.
Recorded Recurrences::replace() const {
  auto& s = k.s;
  return s.record([&] {
    s.run(Nothing{}, push(k.x));
    k.A.apply(s, k.x, k.Ax);
    s.run(Residual{.b = k.b, .Ax = k.Ax, .d = k.d, .r = r, .zh = zh}, push(zh));
    k.A.apply(s, zh, f);
    s.run(Scaled{.from = p, .to = fh, .d = k.d}, push(fh));
    k.A.apply(s, fh, g);
    s.run(Scaled{.from = f, .to = zh, .d = k.d}, push(zh));
    k.A.apply(s, zh, t_old);
    s.run(Scaled{.from = g, .to = fh, .d = k.d}, push(fh));
    k.A.apply(s, fh, z);
    s.run(Scaled{.from = z, .to = zh, .d = k.d}, push(zh));
    k.A.apply(s, zh, v_old);
    s.run(bicgstab::Gathered{v_old});
    s.run(ShadowDots{.rh = rh, .r = r, .f = f, .g = g, .z = z}, five());
  });
}

PipeBicgstab::PipeBicgstab(const Problem& k) {
  Recurrences c(k);
  auto& s = k.s;
  rr = c.rr;
  r = c.r;
  tests_first = levels_out = true;
  replace_every = 50;
  begin = c.begin();
  replace = c.replace();
  iterate = k.loop(c.rotation(), rr, [&] {
    s.exit_if(c.test());
    s.run(c.half_step(), start(c.qy, c.yy), push(c.zh));
    k.A.apply(s, c.zh, c.v);  // v = B z hides (q,y), (y,y)
    s.run(Step{.alpha = c.alpha,
               .qy = finish(c.qy),
               .yy = c.yy,
               .zeta = c.zeta,
               .p = c.p,
               .q = c.q,
               .y = c.y,
               .t = c.t,
               .v = c.v,
               .rh = c.rh,
               .g = c.g,
               .z = c.z,
               .d = k.d,
               .x = k.x,
               .r = c.r,
               .f = c.f,
               .fh = c.fh},
          c.five(), push(c.fh));
    k.A.apply(s, c.fh, c.t);  // t = B f hides the five
  });
  then(name, c.classic(), Recovery::Kind::classic_bicgstab);
}

}  // namespace pipebicgstab

template <>
std::unique_ptr<Method> make<pipebicgstab::PipeBicgstab>(const Problem& problem) {
  return std::make_unique<pipebicgstab::PipeBicgstab>(problem);
}

}  // namespace sordino
