#include "sordino/solvers/bicgstab.hpp"

#include "sordino/solvers/bicgstab_lines.hpp"
#include "sordino/solvers/bicgstab_scalars.hpp"
#include "sordino/solvers/complex_bicgstab.hpp"

namespace sordino {
namespace bicgstab {

namespace {

Vectors own(const Problem& k) {
  const Vec v = k.vector("v");
  return {.r = k.vector("r"),
          .rh = k.vector("rh"),
          .p = k.preconditioned("p"),
          .s = k.preconditioned("s"),
          .ph = k.operand("M^-1 p"),
          .sh = k.operand("M^-1 s"),
          .v = v,
          .v_old = v};
}

/// Of one system.
struct Single : Scalars {
  using V = double;
  const Problem& k;
  Scal rr;
  explicit Single(const Problem& problem) : Scalars(problem), k(problem), rr(problem.s.scalar("(r,r)")) {}

  template <class... D>
  void product(Vec from, Vec to, D... dots) const {
    if (!k.s.space(k.A.space()).replicated) return k.A.apply(k.s, from, to, start(dots...));
    k.A.apply(k.s, from, to);
    k.s.run(Gathered{to});
    k.s.dots(dots...);
  }
  void exit_if(Scal rho_new, Scal zeta, Scal shadow) const {
    k.s.exit_if(ConvergedBi{finish(rr), rho_new, zeta, shadow, k.target, k.bound});
  }
  template <class B>
  Recorded loop(Rotation rotation, B body) const {
    return k.loop(rotation, rr, body);
  }
};

}  // namespace

Bicgstab::Bicgstab(const Problem& k) : Bicgstab(k, own(k)) {}

Bicgstab::Bicgstab(const Problem& k, const Vectors& vectors) {
  const Single on(k);
  rr = on.rr;
  r = vectors.r;
  record_lines(*this, on, vectors);
}

}  // namespace bicgstab

template <>
std::unique_ptr<Method> make<bicgstab::Bicgstab>(const Problem& problem) {
  if (problem.is_complex()) return complex_bicgstab::make_method(problem);
  return std::make_unique<bicgstab::Bicgstab>(problem);
}

}  // namespace sordino
