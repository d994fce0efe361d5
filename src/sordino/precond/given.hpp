// Preconditioners that the caller brings.
#pragma once
#include <memory>

#include "sordino/precond/preconditioner.hpp"

namespace sordino {

/// M^-1 as a diagonal, fused into the solvers' updates as Jacobi's is.
class GivenDiagonal final : public Preconditioner {
 public:
  /// values [n] of the whole system.
  GivenDiagonal(Rank& rank, int space, const double* values) : d_(rank.vector("M^-1", space)) {
    rank.write(d_, values + rank.space(space).first_row);
  }
  Vec diagonal() const override { return d_; }

 private:
  Vec d_;
};

/// M^-1 as any operator on the space of A. Only methods that say `any_preconditioner` can use it.
class GivenOperator final : public Preconditioner {
 public:
  explicit GivenOperator(std::unique_ptr<Operator> M) : M_(std::move(M)) {}
  Vec diagonal() const override { return {}; }
  const Operator* operation() const override { return M_.get(); }

 private:
  std::unique_ptr<Operator> M_;
};

}  // namespace sordino
