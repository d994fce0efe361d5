// Preconditioners that the caller brings.
#pragma once
#include <memory>
#include <vector>

#include "sordino/precond/preconditioner.hpp"

namespace sordino {

/// M^-1 as a diagonal, fused into the solvers' updates as Jacobi's is.
class GivenDiagonal final : public Preconditioner {
 public:
  /// values [n] of the whole system; of a complex one [n][2], of which factors of words take the real part for both.
  GivenDiagonal(Rank& rank, int space, const double* values, Factors factors = Factors::of_words)
      : d_(rank.vector("M^-1", space)) {
    const Space& s = rank.space(space);
    std::vector<double> mine(values + s.first_row, values + s.first_row + s.rows);
    if (s.numbers >= 0 && factors == Factors::of_words)
      for (std::size_t i = 1; i < mine.size(); i += 2) mine[i] = mine[i - 1];
    rank.write(d_, mine.data());
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
