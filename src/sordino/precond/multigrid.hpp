// Multigrid, geometric for matrices of grids (grid_levels.hpp) or algebraic (algebraic_levels.hpp): M^-1 is one V-, F- or
// W-cycle from zero, smoothed before and after by Chebyshev polynomials of diag(A)^-1 A that are least on the upper part of its
// spectrum (Adams et al. 2003). What goes to the coarse level is what was left before the last step of the first of them, whose
// product says so, and that step is taken beside the correction; the second polynomial is of a degree less, which is the one
// that left it. Restriction is the transpose of interpolation. So M of V and W is symmetric positive definite: for every method
// that takes an operator. That of F, whose second visit of a level is another one than the first, is not symmetric: for those
// that are flexible, or of any matrix.
//
// A V-cycle is on level l once, counted from 0, an F-cycle l + 1 times, a W-cycle 2^l times, but for the last level, which each
// visit of the one above it solves once.
// A V-cycle on a level costs 2 k products and halos, for polynomials of degree k and k - 1, and no reduction; on the last
// level, which has few cells, each rank that owns any multiplies its rows of a dense inverse by what the others send. Transfers
// have a halo each way, and where a level lives on fewer ranks than the one above, a message there and back besides. All of it
// is recorded, so a GPU has an iteration in one graph; products and transfers hide their halos as CsrOperator's do, where a
// level has inner rows enough, which coarse ones have not. Memory beside matrices and transfers: six vectors of a level, eight
// where k > 1.
//
// In lower precision (MultigridLevels::precision()) levels down to some one have matrices and vectors of their own, half as
// large or less (linalg/single_operator.hpp), and M is symmetric, and the same in each application, to that rounding.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

/// On each level below the first one: once; one F, and one V for what it has left; twice the same.
enum class Cycle { v, f, w };

/// Throws bad_argument for a word that is none of v, f and w.
Cycle cycle_of(const std::string& word);

/// Likewise for a word that is none of double, single and half.
CyclePrecision precision_of(const std::string& word);

class Multigrid final : public Operator {
 public:
  /// Collective. A is the first level's matrix, `levels` and its values outlive this. `first`: the diagonals of A, by which its
  /// copy is stored where cycles are in lower precision.
  Multigrid(Rank& rank, const Operator& A, std::shared_ptr<const MultigridLevels> levels, Cycle cycle,
            const Diagonals& first = {});
  ~Multigrid() override;
  /// After MultigridLevels::update().
  void update_values(Rank& rank);

  /// z = M^-1 r; r needs no ghosts.
  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  /// Of lower precision: where numbers of that size are those of 1. Without it, that of A's entries.
  void expect(Rank& rank, double norm) const override;
  int space() const override { return A_.space(); }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, A_.space()); }
  Vec result(Rank& rank, const char* name) const override { return A_.operand(rank, name); }
  /// What the operators of coarse levels, and transfers, hold themselves, and of their arrays the rank's rows.
  i64 bytes() const;

 private:
  struct Level;
  void run(Rank& rank, Cycle cycle, std::size_t l, Vec b, Vec x, Vec to) const;
  void correct(Rank& rank, Cycle cycle, std::size_t l, Vec left, Vec x) const;
  void visit(Rank& rank, Cycle cycle, std::size_t l, Vec e) const;
  LevelSpace space(std::size_t l) const;
  void set_scales(Rank& rank, int exponent) const;

  const Operator& A_;
  std::shared_ptr<const MultigridLevels> levels_;
  Cycle cycle_;
  std::vector<std::unique_ptr<Level>> mine_;  // but the last
  std::unique_ptr<CsrOperator> last_;         // the last one's inverse
  // In turns, as visits are recorded: a rank that is nobody's neighbour on other levels may still read the other one's ghosts.
  Vec last_b_[2];
  mutable int visits_ = 0;
  Scal narrow_, widen_;  // what a residual, and what is found for it, are multiplied by
};

}  // namespace sordino
