#include "sordino/solvers/gropp.hpp"

namespace sordino {
namespace gropp {

Gropp::Gropp(const Problem& k) {
  auto& e = k.s;
  auto& A = k.A;
  Vec x = k.x, w = k.Ax, p = k.vector("p"), s = k.preconditioned("s"), z = k.operand("z");
  Vec q = k.M ? k.M->result(e, "q") : k.vector("q");
  Scal gamma = e.scalar("(r,z)"), gamma_old = e.scalar("(r,z) old"), ps = e.scalar("(p,s)");
  rr = e.scalar("(r,r)");
  levels_out = true;
  r = k.preconditioned("r");
  auto precondition = [&](Vec v, Vec mv) { k.M ? k.M->apply(e, v, mv) : void(e.run(Scaled{.from = v, .to = mv, .d = k.d})); };

  begin = e.record([&] {
    k.run_for_M(cg::Defect{.b = k.b, .Ax = w, .r = r}, r);
    precondition(r, z);
    e.push_last(z);
    e.dots(dot(r, z) >> gamma_old);
    A.apply(e, z, s);
    e.copy(z, p);
    e.wait(gamma_old);
    e.dots(dot(p, s) >> ps);
    if (k.is_sent(s)) e.push_last(s);
  });
  iterate = k.loop({.scalars = {{gamma, gamma_old}}}, rr, [&] {
    precondition(s, q);  // hides (p,s)
    e.run(Update{.gamma = gamma_old, .ps = finish(ps), .p = p, .s = s, .q = q, .x = x, .r = r, .z = z}, start(gamma, rr),
          push(z));
    A.apply(e, z, w);  // hides (r,z) and (r,r)
    e.exit_if(ConvergedSpd{finish(rr), ps, k.target, k.bound});
    k.run_for_M(Direction{.gamma = gamma, .gamma_old = gamma_old, .z = z, .w = w, .p = p, .s = s}, s, start(ps));
  });
  then(name, cg::Cg(k, {.r = r, .p = z, .z = k.M ? q : Vec{}}), Recovery::Kind::classic_cg);
}

}  // namespace gropp

template <>
std::unique_ptr<Method> make<gropp::Gropp>(const Problem& problem) {
  return std::make_unique<gropp::Gropp>(problem);
}

}  // namespace sordino
