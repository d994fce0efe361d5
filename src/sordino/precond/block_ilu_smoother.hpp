// Block-Jacobi with incomplete Cholesky factors of tiles (block_ilu.hpp) as the smoother of a grid's level, of 7 or 27 points:
// x = omega M^-1 b before a correction, and x + omega M^-1 (b - A x) behind it.
//
// omega hangs on the largest eigenvalue of M^-1 A, so that 1 - omega M^-1 A leaves less of any error in the norm of A. Of
// matrices without positive entries beside the diagonal that eigenvalue is less than 2, for M and M - A have nonnegative
// inverse and entries (a regular splitting: Varga 1962); of others it is estimated as well.
#pragma once
#include "sordino/precond/block_ilu.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/level_smoother.hpp"

namespace sordino {

/// Tiles of a level's cells, cut off at the ends of ranks' layers.
Tiling smoothing_tiles(const Extents& cells);
/// What M^-1 of these tiles is multiplied by. Of the matrix and partition of a level. Cost: the factors, which are made for it,
/// and 15 products and applications on the host's threads.
double damping(const CsrView& A, const Partition& partition, const Tiling& tiling);

class BlockIluSmoother final : public LevelSmoother {
 public:
  /// Collective. Of level l of a grid, whose matrix is A. Both outlive it.
  BlockIluSmoother(Rank& rank, const GridLevels& levels, int l, const Operator& A);
  void update_values(Rank& rank) override;
  Vec operand(Rank& rank, const char* name) const override { return A_.operand(rank, name); }
  void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const override;
  void improve(Rank& rank, Vec b, Vec x, Vec to) const override;
  void leave(Rank& rank, Vec b, Vec x, Vec to) const override;

  /// `ghosts`: of A's operands.
  static SmootherSize size_of(const GridLevels& levels, int l, int rank, i64 ghosts, bool device);

 private:
  const GridLevels& levels_;
  int level_;
  const Operator& A_;
  BlockIlu M_;
  Vec Ax_, r_, z_;
};

}  // namespace sordino
