// The levels of a multigrid preconditioner for matrices of grids, cell-centred: each level's cells are two by two by two of the
// one before, or fewer where a direction has no more to give or is coupled less (grid_steps.hpp), and its matrix is the
// Galerkin product of constant interpolation, scaled so that it approximates the same operator.
//
// The coarse matrix adds up the couplings that cross between two aggregates. In a direction with two cells an aggregate these
// are of centres twice as far apart as the cells', so each counts half. P is linear along the lines through a cell's faces: a
// quarter from the aggregate behind each side on which the cell lies in its own, less where the coupling across is weaker than
// the one inwards, the rest from its own. With a constant P that matrix is half of P^T A P, and corrections are twice too large
// (over-correction: Braess 1995; Stueben 2001, section 9.5).
// What a row adds up to is a wall's where the cell is coupled with nothing on its outer side: in series with half an aggregate,
// in the coarse matrix as in P. Else, as of time steps, it counts as a whole.
//
// Pairs of cells mix phases, and two bubbles in one aggregate are one for all coarser levels: what tells them apart is left to
// smoothing, which does not see it. So where the second level or one below it, of few rows, has several parts that are coupled
// strongly inside alone (stiff_parts.hpp), what is below it are aggregates by couplings (aggregation.hpp), in place of pairs.
//
// Rows without couplings, as those of solid cells, are in no aggregate: their P is 0, and smoothing solves them.
#pragma once
#include <functional>
#include <vector>

#include "sordino/linalg/extents.hpp"
#include "sordino/linalg/large_csr.hpp"
#include "sordino/precond/algebraic_levels.hpp"
#include "sordino/precond/grid_slabs.hpp"
#include "sordino/precond/grid_transfers.hpp"
#include "sordino/precond/level_ranks.hpp"
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

/// One level, for all ranks of this process.
struct GridLevel {
  Extents cells = {};                  // of the grid, x fastest
  Extents step = {1, 1, 1};            // cells of an aggregate of the next level: 1 or 2; of the last level 1
  LargeCsr A = {};                     // of the first level empty: it is the caller's
  LargeArray<double> takes_part = {};  // [n] 1, or 0 of a row in no aggregate
  Partition partition = {};            // of rows
  Partition adding = {};               // of those whose aggregates lie on a rank; ranks own whole ones of the level above
  Diagonals diagonals = {};            // by which A is stored; of the first level none: that is the caller's choice
  double bound = 0;                    // of the eigenvalues of diag(A)^-1 A
  int colours = 0;                     // 2 or 8, of cells that are coupled with those of others alone; looked for if it matters
  double damping = 1;                  // of tiles that smooth it (block_ilu_smoother.hpp)
  bool has_phases = false;             // whose couplings differ a hundredfold and more in some rows
  bool is_uneven = false;    // whose couplings differ tenfold in any; of levels that are made where they lie not known
  bool is_cross = false;     // cells are coupled through faces alone, and not across the ends of the box
  bool has_edges = false;    // cells are coupled across edges or corners, too
  bool is_periodic = false;  // across the ends of ranks' layers
  // [rows of the level before] P^T, by cells whose aggregates take, and P, by cells that take; of the first level empty
  LargeArray<CellWeights> to_this = {}, from_this = {};
  SlabLevel made = {};  // instead, of large levels of a GridMatrix; of the last one that is made so, P^T and P alone

  /// From that row of the level before on, those of the rank that owns it.
  const CellWeights* restriction(i64 row) const { return made.is_given() ? made.restriction(row) : to_this.data() + row; }
  const CellWeights* interpolation(i64 row) const { return made.is_given() ? made.interpolation(row) : from_this.data() + row; }

  /// Whether rows move between the ranks that add them up and those that own them: not of the first level.
  bool moves() const { return adding.block_rows != partition.block_rows || adding.rank_blocks != partition.rank_blocks; }
};

/// Throws if fields with such facts are not to be used.
using JudgeFacts = std::function<void(const GridFacts&)>;

class GridLevels final : public MultigridLevels {
 public:
  /// Of the matrix of a grid of that many cells, whose rows ranks own in whole layers (`first`, of grid_layers()), and what of
  /// it the levels' ranks then own; levels of at most `alone` rows lie on one rank (level_ranks.hpp). Throws bad_argument with
  /// one sentence if A has entries between cells that are no neighbours, and as scale_exponent(). Cost: three passes over the
  /// arrays, on several threads.
  GridLevels(const CsrView& A, const Extents& grid, const Partition& first, i64 alone = level_rows_of_cpus,
             CyclePrecision precision = CyclePrecision::full, Smoothing smoothing = Smoothing::chebyshev);
  /// Of a matrix that is given to `slabs`, with such coupling_strengths(): levels of more than `most_on_host` rows stay where
  /// these make them, one for each rank if there may be as many, and ranks own the same layers on all of them; matrix() has
  /// none of their rows. In double, smoothed by polynomials; update() of rows is refused. Throws bad_argument about the first
  /// row that no levels can be made of, with a NaN or Inf, or a diagonal that is not positive, and what `judge` does. Cost: the
  /// makers', and that of the host's levels.
  GridLevels(std::shared_ptr<GridSlabs> slabs, const std::array<double, 3>& strengths, const Partition& first, i64 alone,
             const JudgeFacts& judge = {});
  static constexpr i64 most_on_host = i64(1) << 15;
  void update(const CsrView& A) override;
  /// The same levels for other values of a matrix that was given so, which other slabs have, of as many makers. What is made
  /// stays until release(), and what made() has said before fills with it. Throws as the constructor, and leaves all as it was.
  void update(std::shared_ptr<GridSlabs> slabs, const JudgeFacts& judge = {});
  /// Not where phases have come that were not there, which want polynomials of a degree more, or couplings across edges.
  /// Aggregates stay.
  bool fits() const override { return below_fits_ && !gained_edges_ && (degree_ > 1 || !levels_.front().has_phases); }

  int count() const override { return last_grid() + (below_ ? below_->count() : 1); }
  /// The last level of cells, counted from 0; below it are aggregates, or nothing.
  int last_grid() const { return int(levels_.size()) - 1; }
  const GridLevel& level(int l) const { return levels_[std::size_t(l)]; }
  CsrView matrix(int l) const override {
    return l == 0 ? given_ : l <= last_grid() ? level(l).A.view() : below_->matrix(l - last_grid());
  }
  /// Filled with what there is when they are filled; this outlives them, and stays where it is.
  MadeRows made(int l) const override;
  void release() override;
  const Partition& partition(int l) const override {
    return l <= last_grid() ? level(l).partition : below_->partition(l - last_grid());
  }
  const Diagonals& diagonals(int l) const override {
    return l <= last_grid() ? level(l).diagonals : below_->diagonals(l - last_grid());
  }
  /// The given one down to the last level, or to the first one whose rows other ranks own than those that add them up.
  CyclePrecision precision(int l) const override { return l < first_in_double_ ? precision_ : CyclePrecision::full; }
  int exponent() const override { return exponent_; }
  double bound(int l) const override { return below_ && l >= last_grid() ? below_->bound(l - last_grid()) : level(l).bound; }
  /// Other levels have twice as wide cells. Of finite elements of stretched cells what alternates across directions that wait
  /// holds as little as a ninth of what does not, in those that are paired.
  double interval() const override { return is_stretched_ ? 8 : 4; }
  int degree() const override { return degree_; }  // where phases meet, or cells are so, corrections want more smoothing
  /// What was asked for, but of levels without colours, as periodic ones of odd many cells, and of aggregates, the polynomial.
  std::unique_ptr<LevelSmoother> smoother(Rank& rank, int l, const Operator& A, Vec inverse_diagonal) const override;
  SmootherSize smoother_size(int l, int rank, i64 ghosts, bool device) const override;
  const CsrMatrix& last_inverse() const override { return below_ ? below_->last_inverse() : last_inverse_; }
  std::unique_ptr<LevelTransfer> transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const override;
  i64 transfer_bytes(int l, int rank, bool device) const override;

 private:
  void add_all(const std::array<double, 3>& strengths, const Partition& first, i64 alone);
  void find_all();
  struct Made;
  Made made_of(GridSlabs& slabs, const JudgeFacts& judge) const;
  std::vector<SlabStep> levels_to_make() const;
  std::vector<i64> cuts(i64 most_slabs, const std::vector<SlabStep>& levels) const;
  void take(Made made);
  static void take_facts(GridLevel& level, const GridFacts& facts);
  static void take_rows(GridLevel& level, LargeCsr rows);
  bool closed() const;
  void add(const Extents& cells, Partition partition, Partition adding);
  void find_values();
  void find_values_of(int l);
  static void scale(GridLevel& level, int exponent);
  void find_inverse();
  bool mixes_below(int l) const;
  void aggregate_below(int l);
  void find_colours();
  void find_damping();
  int lowered() const;

  CsrView given_;
  std::shared_ptr<GridSlabs> slabs_ = {};  // where there are no rows
  bool made_closed_ = false;               // each row of the first one adds up to zero
  std::vector<GridLevel> levels_;
  std::unique_ptr<AlgebraicLevels> below_;  // the first of its levels is the last one of cells
  bool below_fits_ = true;                  // they have taken the last values
  bool gained_edges_ = false;               // with the last values, of a pattern that has such entries
  int degree_ = 1;                          // of the first values,
  bool is_stretched_ = false;               // as this: cells with couplings across edges, some rows far longer than wide
  CyclePrecision precision_;
  Smoothing smoothing_;
  int exponent_ = 0, first_in_double_ = 0;
  CsrMatrix last_inverse_;
};

}  // namespace sordino
