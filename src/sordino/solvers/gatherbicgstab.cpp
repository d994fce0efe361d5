#include "sordino/solvers/gatherbicgstab.hpp"

namespace sordino {
namespace gatherbicgstab {
using namespace pipebicgstab;

GatherBicgstab::GatherBicgstab(const Problem& k, bool at_once) {
  Recurrences c(k);
  auto& s = k.s;
  rr = c.rr;
  r = c.r;
  tests_first = levels_out = true;
  replace_every = 50;
  begin = c.begin();
  replace = c.replace();
  iterate = k.loop(c.rotation(), rr, [&] {
    // What needs no v, and then no t, hides its gather; before the product it hides nothing.
    auto step_x = [&] {
      s.run(StepX{.alpha = c.alpha,
                  .qy = finish(c.qy),
                  .yy = c.yy,
                  .zeta = c.zeta,
                  .p = c.p,
                  .q = c.q,
                  .y = c.y,
                  .d = k.d,
                  .x = k.x,
                  .r = c.r});
    };
    auto shadow_dots = [&] { s.run(ShadowDots{.rh = c.rh, .r = c.r, .f = c.f, .g = c.g, .z = c.z}, c.five()); };
    auto product = [&](Vec from, Vec to, const auto& meanwhile) {
      if (at_once) meanwhile();
      k.A.apply(s, from, to);  // start the gather of `to`
      if (!at_once) meanwhile();
    };
    s.exit_if(c.test());
    s.run(c.half_step(), start(c.qy, c.yy));  // finish the gather of t
    product(c.zh, c.v, step_x);
    s.run(StepF{.alpha = c.alpha, .zeta = c.zeta, .v = c.v, .y = c.y, .t = c.t_old, .d = k.d, .f = c.f, .fh = c.fh});  // of v
    product(c.fh, c.t, shadow_dots);
  });
  then(name, c.classic(), Recovery::Kind::classic_bicgstab);
}

}  // namespace gatherbicgstab

template <>
std::unique_ptr<Method> make<gatherbicgstab::GatherBicgstab>(const Problem& problem) {
  return std::make_unique<gatherbicgstab::GatherBicgstab>(problem);
}

}  // namespace sordino
