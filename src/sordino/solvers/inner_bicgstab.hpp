// M^-1 as a few steps of BiCGStab with another matrix, one that costs less than A: under a method that allows M to be another
// one in each step, as gmres does (000, section VI: 20 steps with an H-matrix of rank one).
//
// An application of k steps: 2 k products, 2 k halos, 3 k + 1 reductions, all exposed, and one command more. Vector traffic
// beyond the products 21 n words a step, workspace 8 n. It begins at zero and tests nothing: a step whose divisor has vanished
// is left out, so that what it has found is kept.
#pragma once
#include <memory>

#include "sordino/linalg/operator.hpp"
#include "sordino/solvers/bicgstab.hpp"

namespace sordino {

namespace inner_bicgstab {

struct Begin {  // x = 0;  r = rh = p = b
  In b;
  Scaling d;
  Out x, r, rh, p, ph;
  static constexpr double flops = 3;
  SORDINO_HD Sums<1> row(i32 i) {
    const double bi = b[i];
    x[i] = 0;
    r[i] = rh[i] = p[i] = bi;
    ph[i] = d[i] * bi;
    return {bi * bi};
  }
};

using Kernels = KernelList<Kernel<Begin>, Kernel<bicgstab::Direction>>;

}  // namespace inner_bicgstab

class InnerBicgstab final : public Operator {
 public:
  /// Collective. `inverse_diagonal`: of A's, a vector on its space, or unset.
  InnerBicgstab(Rank& rank, std::unique_ptr<Operator> A, Scaling inverse_diagonal, int steps);

  void apply(Rank& rank, Vec b, Vec x, const StartDots& epilogue = {}) const override;
  int space() const override { return A_->space(); }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space()); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space()); }

 private:
  std::unique_ptr<Operator> A_;
  Scaling d_;
  int steps_;
  Vec r_, rh_, p_, s_, v_, t_, ph_, sh_;
  Scal first_rho_, rho_[2], rr_[2];  // of the start; of even and odd steps
  Scal rv_, ts_, tt_, zeta_;
};

}  // namespace sordino
