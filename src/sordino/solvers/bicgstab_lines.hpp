// The lines of BiCGStab, of one system or of several columns.
#pragma once
#include "sordino/solvers/bicgstab.hpp"

namespace sordino::bicgstab {

/// Records them. `On` says what is not the same for one system and for several columns: V; the problem; (r,r); what multiplies
/// by A and takes dot products of the result; who divides alpha and zeta, and takes the step with beta; the exit test; what
/// else the loop does.
template <class On>
void record_lines(Way& way, const On& on, const Vectors& vectors) {
  using V = typename On::V;
  const Problem& k = on.k;
  auto& q = k.s;
  const auto& [r, rh, p, s, ph, sh, v, v_old] = vectors;
  const Vec x = k.x, t = k.Ax;
  const auto rr = on.rr, rho = scalar_of<V>(q, "rho"), rho_new = scalar_of<V>(q, "rho new"), rv = scalar_of<V>(q, "(rh,v)");
  const auto ts = scalar_of<V>(q, "(t,s)"), tt = scalar_of<V>(q, "(t,t)"), zeta = scalar_of<V>(q, "zeta");
  const auto shadow = scalar_of<V>(q, "(rh,rh)");

  way.begin = q.record([&] {
    k.run_and_precondition(BeginOf<V>{.b = k.b, .Ax = t, .d = k.d, .r = r, .rh = rh, .p = p, .ph = ph}, p, ph,
                           start(rho, shadow));
    q.wait(any(rho));
  });
  Rotation rotation{.scalars = trade(rho_new, rho)};
  if (v.id != v_old.id) rotation.vectors = {{v, v_old}};
  way.iterate = on.loop(rotation, [&] {
    on.product(ph, v, dot(rh, v) >> rv);  // v = A p
    const QuotientOf<V> alpha = on.alpha(rho, rv), last_alpha = on.last_alpha(rho, rv);
    k.run_and_precondition(  // s = r - alpha v
        HalfStepOf<V>{.rho = alpha.above, .rv = alpha.below, .v = v, .r = r, .d = k.d, .s = s, .sh = sh}, s, sh);
    on.product(sh, t, dot(t, s) >> ts, dot(t, t) >> tt);  // t = A s
    const QuotientOf<V> omega = on.zeta(ts, tt);
    q.run(StepOf<V>{.rho = last_alpha.above,
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
    on.exit_if(rho_new, zeta, shadow);
    on.turn(DirectionOf<V>{.rho_new = rho_new, .rho = rho, .rv = rv, .zeta = zeta, .r = r, .v = v, .d = k.d, .p = p, .ph = ph},
            p, ph);
  });
}

}  // namespace sordino::bicgstab
