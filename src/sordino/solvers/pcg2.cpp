#include "sordino/solvers/pcg2.hpp"

namespace sordino {
namespace pcg2 {

void record(Method& m, const Problem& k, Waits waits) {
  auto& q = k.s;
  Vec x = k.x, s = k.Ax, r = k.preconditioned("r"), w = k.M ? k.M->result(q, "w") : k.vector("w");
  Vec l = k.M ? Vec{} : k.vector("L^-1"), t = k.M ? Vec{} : k.vector("t");
  Vec p = k.operand("p"), p_prev = k.operand("p prev");
  Scal gamma = q.scalar(k.M ? "(r,w)" : "(t,t)"), gamma_old = q.scalar(k.M ? "(r,w) old" : "(t,t) old"), sp = q.scalar("(s,p)"),
       alpha = q.scalar("alpha");
  m.rr = q.scalar("(r,r)");
  m.r = r;
  m.levels_out = k.is_singular;
  auto reduce = [&](Vec a, Vec b, Scal to) {
    q.dots(dot(a, b) >> to);
    if (waits == Waits::where_it_starts) q.wait(to);
  };
  auto needed = [&](Scal sum) { return waits == Waits::where_it_starts ? Get(sum) : Get(finish(sum)); };
  auto reduce_gamma = [&] { k.M ? reduce(r, w, gamma) : reduce(t, t, gamma); };

  m.begin = q.record([&] {
    k.run_for_M(
        Begin{.alpha = alpha, .gamma_old = gamma_old, .b = k.b, .Ax = s, .d = k.d, .l = l, .r = r, .t = t, .p_prev = p_prev},
        r);
    if (k.M) k.M->apply(q, r, w);
    reduce_gamma();  // 003-E4
  });
  auto iterate = [&] {
    if (!k.M) q.run(Scaled{.from = t, .to = w, .d = l});  // w = L^-T t hides (t,t)
    q.run(Direction{.gamma = needed(gamma), .gamma_old = gamma_old, .w = w, .p_prev = p_prev, .p = p}, push(p));
    k.A.apply(q, p, s);
    reduce(s, p, sp);
    q.run(pcg::Advance{.alpha = alpha, .p = p_prev, .x = x});  // hides (s,p)
    k.run_for_M(pcg::Residual{.gamma = gamma, .sp = needed(sp), .alpha = alpha, .gamma_old = gamma_old, .s = s, .r = r}, r);
    reduce(r, r, m.rr);
    k.M ? k.M->apply(q, r, w) : void(q.run(Scaled{.from = r, .to = t, .d = l}));  // either hides (r,r); t = L^-1 r
    q.exit_if(ConvergedSpd{needed(m.rr), sp, k.target, k.bound});
    reduce_gamma();  // behind the test: who leaves has started nothing (003-E6)
  };
  auto catch_up = [&] {
    q.run(pcg::Advance{.alpha = alpha, .p = p, .x = x});
    q.run(pcg::NoStep{.alpha = alpha});
  };
  m.iterate = k.loop({.vectors = {{p, p_prev}}}, m.rr, iterate, catch_up);
  m.end = q.record([&] { q.run(pcg::Advance{.alpha = alpha, .p = p, .x = x}); });  // 003-E3
  m.after_all = q.record([&] {
    q.run(pcg::Advance{.alpha = alpha, .p = p_prev, .x = x});
    q.run(pcg::NoStep{.alpha = alpha});
  });
}

}  // namespace pcg2

template <>
std::unique_ptr<Method> make<pcg2::Pcg2>(const Problem& problem) {
  return std::make_unique<pcg2::Pcg2>(problem);
}

}  // namespace sordino
