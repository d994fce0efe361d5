#include "sordino/solvers/gatherbicgstab.hpp"

namespace sordino {
namespace gatherbicgstab {
using namespace pipebicgstab;

GatherBicgstab::GatherBicgstab(const Problem& k) {
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
    s.run(c.half_step(), start(c.qy, c.yy));  // finish the gather of t
    k.A.apply(s, c.zh, c.v);                  // start the gather of v
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
    s.run(StepF{
        .alpha = c.alpha, .zeta = c.zeta, .v = c.v, .y = c.y, .t = c.t_old, .d = k.d, .f = c.f, .fh = c.fh});  // finish it
    k.A.apply(s, c.fh, c.t);                                                          // start the gather of t
    s.run(ShadowDots{.rh = c.rh, .r = c.r, .f = c.f, .g = c.g, .z = c.z}, c.five());  // needs no t
  });
  then(name, c.classic(), Recovery::Kind::classic_bicgstab);
}

}  // namespace gatherbicgstab

template <>
std::unique_ptr<Method> make<gatherbicgstab::GatherBicgstab>(const Problem& problem) {
  return std::make_unique<gatherbicgstab::GatherBicgstab>(problem);
}

}  // namespace sordino
