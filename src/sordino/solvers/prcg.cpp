#include "sordino/solvers/prcg.hpp"

namespace sordino {
namespace prcg {

Prcg::Prcg(const Problem& k) {
  auto& q = k.s;
  auto& A = k.A;
  Vec b = k.b, x = k.x, p = k.vector("p"), s = k.vector("s"), w = k.vector("w"), u = k.Ax;
  Vec y = k.operand("y"), y_new = k.operand("y new"), t = k.operand("t"), t_new = k.operand("t new");
  Scal ry = q.scalar("(r,y)"), ps = q.scalar("(p,s)"), rt = q.scalar("(r,t)"), ts = q.scalar("(t,s)");
  rr = q.scalar("(r,r)");
  levels_out = true;
  r = k.vector("r");
  tests_first = true;

  begin = q.record([&] {
    q.run(Begin{.b = b, .Ax = u, .d = k.d, .r = r, .y = y_new}, push(y_new));
    A.apply(q, y_new, w);
    q.run(Scaled{.from = y_new, .to = y}, push(y));  // the loop's first product with y needs ghosts of its own
    q.run(First{.y = y_new, .w = w, .r = r, .d = k.d, .p = p, .s = s, .t = t}, start(ry, ps, rt, ts, rr), push(t));
  });
  iterate = k.loop({.vectors = {{y_new, y}, {t_new, t}}}, rr, [&] {
    A.apply_pair(q, t, u, y, w);  // both products, in one pass over A, hide the reduction
    q.exit_if(ConvergedSpd{finish(rr), ps, k.target, k.bound});
    q.run(Step{.ry = ry,
               .ps = ps,
               .rt = rt,
               .ts = ts,
               .d = k.d,
               .y = y,
               .t = t,
               .w = w,
               .u = u,
               .x = x,
               .r = r,
               .p = p,
               .s = s,
               .y_new = y_new,
               .t_new = t_new},
          start(ry, ps, rt, ts, rr), push(y_new), push(t_new));
  });
  then(name, cg::Cg(k, {.r = r, .p = y}), Recovery::Kind::classic_cg);
}

}  // namespace prcg

template <>
std::unique_ptr<Method> make<prcg::Prcg>(const Problem& problem) {
  return std::make_unique<prcg::Prcg>(problem);
}

}  // namespace sordino
