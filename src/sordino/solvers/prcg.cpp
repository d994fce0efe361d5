#include "sordino/solvers/prcg.hpp"

namespace sordino {
namespace prcg {

Prcg::Prcg(const Problem& k) {
  auto& q = k.s;
  const Names names{.r = k.preconditioned("r"),
                    .p = k.M ? k.M->result(q, "p") : k.vector("p"),  // lent to cg as M^-1 r
                    .s = k.preconditioned("s"),
                    .w = k.vector("w"),
                    .u = k.Ax,
                    .y = k.operand("y"),
                    .y_new = k.operand("y new"),
                    .t = k.operand("t"),
                    .t_new = k.operand("t new"),
                    .ry = q.scalar("(r,y)"),
                    .ps = q.scalar("(p,s)"),
                    .rt = q.scalar("(r,t)"),
                    .ts = q.scalar("(t,s)")};
  rr = q.scalar("(r,r)");
  levels_out = true;
  r = names.r;
  tests_first = true;
  k.M ? record_with_operator(k, names) : record(k, names);
  then(name, cg::Cg(k, {.r = r, .p = names.y, .z = k.M ? names.p : Vec{}}), Recovery::Kind::classic_cg);
}

void Prcg::record(const Problem& k, const Names& names) {
  auto& q = k.s;
  auto& A = k.A;
  const auto& [r, p, s, w, u, y, y_new, t, t_new, ry, ps, rt, ts] = names;
  begin = q.record([&] {
    q.run(Begin{.b = k.b, .Ax = u, .d = k.d, .r = r, .y = y_new}, push(y_new));
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
               .x = k.x,
               .r = r,
               .p = p,
               .s = s,
               .y_new = y_new,
               .t_new = t_new},
          start(ry, ps, rt, ts, rr), push(y_new), push(t_new));
  });
}

void Prcg::record_with_operator(const Problem& k, const Names& names) {
  auto& q = k.s;
  auto& A = k.A;
  const auto& [r, p, s, w, u, y, y_new, t, t_new, ry, ps, rt, ts] = names;
  auto precondition = [&](Vec mine) {  // t = M^-1 s
    k.M->apply(q, s, mine, start(dot(r, mine) >> rt, dot(mine, s) >> ts));
    q.push_last(mine);
  };
  begin = q.record([&] {
    k.run_and_precondition(cg::Defect{.b = k.b, .Ax = u, .r = r}, r, y_new);
    A.apply(q, y_new, s);
    if (k.is_sent(s)) q.push_last(s);
    q.copy(y_new, p);
    q.run(Scaled{.from = y_new, .to = y}, push(y));
    q.dots(dot(r, y) >> ry, dot(p, s) >> ps, dot(r, r) >> rr);
    precondition(t);
  });
  iterate = k.loop({.vectors = {{y_new, y}, {t_new, t}}}, rr, [&] {
    A.apply_pair(q, t, u, y, w);  // both products, in one pass over A, hide the reductions
    q.exit_if(ConvergedSpd{finish(rr), ps, k.target, k.bound});
    k.run_for_M(StepAlone{.ry = ry,
                          .ps = ps,
                          .rt = finish(rt),
                          .ts = ts,
                          .y = y,
                          .t = t,
                          .w = w,
                          .u = u,
                          .x = k.x,
                          .r = r,
                          .p = p,
                          .s = s,
                          .y_new = y_new},
                s, start(ry, ps, rr), push(y_new));
    precondition(t_new);
  });
}

}  // namespace prcg

template <>
std::unique_ptr<Method> make<prcg::Prcg>(const Problem& problem) {
  return std::make_unique<prcg::Prcg>(problem);
}

}  // namespace sordino
