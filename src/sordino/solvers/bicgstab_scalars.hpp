// Who computes alpha, zeta and beta of BiCGStab: the heads of the commands that use them, or the host, as the paper's program
// does (000, section VI-E), to compare with. The bits are the same.
#pragma once
#include "sordino/solvers/bicgstab.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino::bicgstab {

struct DirectionBy {  // of a beta that is known
  static constexpr const char* name = "Direction";
  Get beta, zeta;
  In r, v;
  Scaling d;
  InOut p;
  Out ph;
  static constexpr double flops = 5;
  SORDINO_HD void row(i32 i) {
    double pi = direction<double>(beta, zeta, r[i], v[i], p[i]), di = d[i];
    p[i] = pi;
    ph[i] = di * pi;
  }
};

using ScalarKernels = KernelList<Kernel<DirectionBy>>;

using Quotient = QuotientOf<double>;

/// By heads nothing is added to an iteration. By the host three tasks are, each of which waits for the sum before it and holds
/// up what comes behind it.
class Scalars {
 public:
  explicit Scalars(const Problem& problem);  // which must outlive it

  /// alpha = rho / (rh,v), where the reduction into (rh,v) ends; and the same behind that.
  Quotient alpha(Scal rho, Scal rv) const;
  Quotient last_alpha(Scal rho, Scal rv) const;
  /// zeta = (t,s) / (t,t), where the reduction into both ends.
  Quotient zeta(Scal ts, Scal tt) const;
  /// beta, and the step that takes it; of the loop's exit test it is the command behind.
  void turn(const Direction& step, Vec p, Vec ph) const;

 private:
  const Problem& k_;
  Scal one_, alpha_, zeta_, beta_;
};

template <std::unique_ptr<Method> (*make)(const Problem&)>
std::unique_ptr<Method> make_by_host(const Problem& problem) {
  Problem p = problem;
  p.scalars_by_host = true;
  return make(p);
}

/// Bicgstab of real vectors whose scalars the host computes, which is no method of the list.
const MethodEntry& by_host();

}  // namespace sordino::bicgstab
