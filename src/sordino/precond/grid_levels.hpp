// The levels of a multigrid preconditioner for matrices of grids, cell-centred: each level's cells are two by two by two of the
// one before, or fewer where a direction has no more to give or is coupled less (grid_steps.hpp), and its matrix is the
// Galerkin product of constant interpolation, scaled so that it approximates the same operator.
//
// P has a 1 for each cell of an aggregate, and A_c = P^T A P adds up the couplings that cross between two aggregates. In a
// direction with two cells an aggregate these are of centres twice as far apart as the cells', so each is to count half:
// without that a coarse correction is half as large as it should be (over-correction: Braess 1995; Stueben 2001, section 9.5).
// What a row adds up to, of Dirichlet faces and of time steps, counts half, too: on coarse levels a time step's share is then
// too small, which the method that is preconditioned makes good.
//
// Rows without couplings, as those of solid cells, are in no aggregate: their P is 0, and smoothing solves them.
#pragma once
#include <vector>

#include "sordino/linalg/extents.hpp"
#include "sordino/linalg/large_csr.hpp"
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

/// One level, for all ranks of this process.
struct GridLevel {
  Extents cells = {};                  // of the grid, x fastest
  Extents step = {1, 1, 1};            // cells of an aggregate of the next level: 1 or 2; of the last level 1
  LargeCsr A = {};                     // of the first level empty: it is the caller's
  LargeArray<double> takes_part = {};  // [n] 1, or 0 of a row in no aggregate
  Partition partition = {};            // of rows; ranks own whole aggregates
  Diagonals diagonals = {};            // by which A is stored; of the first level none: that is the caller's choice
  double bound = 0;                    // of the eigenvalues of diag(A)^-1 A
};

class GridLevels final : public MultigridLevels {
 public:
  /// Of the matrix of a grid of that many cells, whose rows ranks own in whole layers (`first`, of grid_layers()), and what of
  /// it the levels' ranks then own. Throws bad_argument with one sentence if A has entries between cells that are no
  /// neighbours. Cost: three passes over the arrays, on several threads.
  /// Throws as scale_exponent(), too.
  GridLevels(const CsrView& A, const Extents& grid, const Partition& first, CyclePrecision precision = CyclePrecision::full);
  void update(const CsrView& A) override;

  int count() const override { return int(levels_.size()); }
  const GridLevel& level(int l) const { return levels_[std::size_t(l)]; }
  CsrView matrix(int l) const override { return l == 0 ? given_ : level(l).A.view(); }
  const Partition& partition(int l) const override { return level(l).partition; }
  const Diagonals& diagonals(int l) const override { return level(l).diagonals; }
  CyclePrecision precision() const override { return precision_; }
  int exponent() const override { return exponent_; }
  double bound(int l) const override { return level(l).bound; }
  double interval() const override { return 4; }  // other levels have twice as wide cells
  const CsrMatrix& last_inverse() const override { return last_inverse_; }
  std::unique_ptr<LevelTransfer> transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const override;
  i64 transfer_bytes(int l, int rank, bool device) const override;

 private:
  void add(const Extents& cells, Partition partition);
  void find_values();

  CsrView given_;
  std::vector<GridLevel> levels_;
  CyclePrecision precision_;
  int exponent_ = 0;
  CsrMatrix last_inverse_;
};

}  // namespace sordino
