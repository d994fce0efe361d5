#include "sordino/solvers/cgcg.hpp"

namespace sordino {
namespace cgcg {

Cgcg::Cgcg(const Problem& k) {
  auto& q = k.s;
  auto& A = k.A;
  Vec x = k.x, w = k.is_singular ? k.result("w") : k.Ax, s = k.vector("s"), u = k.operand("u");
  const Vec p = k.M ? k.M->result(q, "p") : k.vector("p");  // lent to cg as M^-1 r
  Scal gamma = q.scalar("(r,u)"), gamma_old = q.scalar("(r,u) old"), delta = q.scalar("(w,u)");
  Scal alpha = q.scalar("alpha"), alpha_old = q.scalar("alpha old");
  rr = q.scalar("(r,r)");
  const Vec kept = k.M || k.d.id >= 0 ? k.preconditioned("r") : Vec{};
  r = kept.id >= 0 ? kept : u;
  levels_out = k.is_singular;
  tests_first = true;

  auto product = [&] { A.apply(q, u, w, start(dot(r, u) >> gamma, dot(w, u) >> delta, dot(r, r) >> rr)); };  // w = A u
  begin = q.record([&] {
    k.run_and_precondition(Begin{.gamma_old = gamma_old,
                                 .alpha_old = alpha_old,
                                 .b = k.b,
                                 .Ax = k.Ax,
                                 .d = k.d,
                                 .r = kept,
                                 .u = k.M ? Vec{} : u,
                                 .p = p,
                                 .s = s},
                           kept, u);
    product();
  });
  iterate = k.loop({.scalars = {{gamma, gamma_old}, {alpha, alpha_old}}}, rr, [&] {
    q.exit_if(ConvergedSpd{finish(rr), delta, k.target, k.bound});
    if (k.M) {
      k.run_and_precondition(StepAlone{.gamma = gamma,
                                       .gamma_old = gamma_old,
                                       .delta = delta,
                                       .alpha_old = alpha_old,
                                       .alpha = alpha,
                                       .w = w,
                                       .u = u,
                                       .x = x,
                                       .r = r,
                                       .p = p,
                                       .s = s},
                             r, u);
    } else {
      q.run(Step{.gamma = gamma,
                 .gamma_old = gamma_old,
                 .delta = delta,
                 .alpha_old = alpha_old,
                 .alpha = alpha,
                 .w = w,
                 .d = k.d,
                 .x = x,
                 .r = kept,
                 .u = u,
                 .p = p,
                 .s = s},
            push(u));
    }
    product();
  });
  then(name, cg::Cg(k, k.M ? cg::Lent{.r = r, .p = u, .z = p} : cg::Lent{.r = p, .p = u}), Recovery::Kind::classic_cg);
}

}  // namespace cgcg

template <>
std::unique_ptr<Method> make<cgcg::Cgcg>(const Problem& problem) {
  return std::make_unique<cgcg::Cgcg>(problem);
}

}  // namespace sordino
