// Chebyshev's polynomial as the smoother of a level, in double or in single precision.
#pragma once
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/level_smoother.hpp"
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

class PolynomialSmoother final : public LevelSmoother {
 public:
  /// Of level l, whose matrix A is; `inverse_diagonal`: of vectors in single precision, else none is given. All outlive it.
  PolynomialSmoother(Rank& rank, const MultigridLevels& levels, int l, const Operator& A, Vec inverse_diagonal);
  void update_values(Rank& rank) override;
  Vec operand(Rank& rank, const char* name) const override { return A_.operand(rank, name); }
  void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const override { M_.apply_and_leave(rank, b, x, left); }
  void improve(Rank& rank, Vec b, Vec x, Vec to) const override { M_.improve(rank, b, x, to); }
  void leave(Rank& rank, Vec b, Vec x, Vec to) const override;

  /// Of doubles; `ghosts`: of A's operands.
  static SmootherSize size_of(int degree, i64 rows, i64 ghosts) {
    const i64 steps = degree > 1 ? 1 : 0;  // vectors more
    return {ghosts, i64(sizeof(double)) * ((2 * steps + 3) * rows + (steps + 1) * ghosts)};
  }

 private:
  const MultigridLevels& levels_;
  int level_;
  const Operator& A_;
  std::unique_ptr<Jacobi> jacobi_;  // where no diagonal is given, or made
  Vec made_;                        // the one that is made
  ChebyshevOperator M_;
};

}  // namespace sordino
