#include "sordino/solvers/richardson.hpp"

namespace sordino {
namespace richardson {

Richardson::Richardson(const Problem& k) {
  rr = k.s.scalar("(r,r)");
  r = k.preconditioned("r");
  tests_first = true;
  k.is_complex() ? record<Number>(k) : record<double>(k);
}

template <class V>
void Richardson::record(const Problem& k) {
  auto& s = k.s;
  const Vec z = k.M ? k.M->result(s, "z") : r;
  auto look = [&] {
    if (!k.M) return void(s.run(Residual<V>{.b = k.b, .Ax = k.Ax, .r = r}, start(rr)));
    k.run_for_M(Defect<V>{.b = k.b, .Ax = k.Ax, .r = r}, r);
    k.M->apply(s, r, z, start(dot(r, r) >> rr));
  };
  begin = s.record(look);
  iterate = k.loop({}, rr, [&] {
    s.exit_if(Converged{finish(rr), k.target, k.bound});
    s.run(Correct<V>{.r = z, .d = {Vec{k.d.id}}, .x = k.x, .omega = k.basis.omega}, push(k.x));
    k.A.apply(s, k.x, k.Ax);
    look();
  });
}

std::string Richardson::why_diverged() const {
  return ": either omega M^-1 A has eigenvalues further than 1 from 1, which no number of iterations mends, or it is far from "
         "normal, and residuals grow at first; use a smaller omega, or bicgstab or gmres";
}

}  // namespace richardson

template <>
std::unique_ptr<Method> make<richardson::Richardson>(const Problem& problem) {
  return std::make_unique<richardson::Richardson>(problem);
}

}  // namespace sordino
