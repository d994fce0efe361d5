// The levels of a GridMatrix as they are made: in slabs, whole layers of the grid's last direction, one for all or one for each
// rank, each by a maker of its own, with as many layers of its neighbours as its levels want. So makers send each other
// nothing, and work at the same time.
//
// A slab has one of a neighbour's layers on the last level that is made, and on each above as many times more as its aggregates
// have cells. The outermost one lacks a coupling, so that its rows are wrong, but not what couples them with those inside; and
// so it is with the outermost aggregates of each level below. What a slab keeps wants of the layer beside it that coupling, and
// where layers are paired, so that there are two, its rows for P^T.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "sordino/precond/grid_maker.hpp"

namespace sordino {

/// What one maker has made of a level.
struct MadeSlab {
  MadeLevel made = {};
  i64 first = 0, begin = 0, end = 0;  // rows of the level: the first one of these, and those that the slab is there for
  i64 fine_first = 0, fine_begin = 0, fine_end = 0;  // of the level before, of P^T and P: likewise
};

/// A level; of the last one that is made so P^T and P alone. Pointers are to a row, behind which those of the same rank follow.
class SlabLevel {
 public:
  std::vector<MadeSlab> slabs = {};

  bool is_given() const { return !slabs.empty(); }
  bool has_rows() const { return is_given() && slabs.front().made.A.is_given(); }
  const MadeSlab& of_row(i64 row) const;
  const double* inverse_diagonal(i64 row) const;
  const CellWeights* restriction(i64 fine_row) const { return weights(fine_row, &MadeLevel::to_this); }
  const CellWeights* interpolation(i64 fine_row) const { return weights(fine_row, &MadeLevel::from_this); }

 private:
  const CellWeights* weights(i64 fine_row, const CellWeights* MadeLevel::* which) const;
};

/// One level and how many cells of it make one of the next.
struct SlabStep {
  Extents cells, step;
};

/// All slabs of a matrix. Each call works on them at the same time, by a thread each, and returns when all are done; it throws
/// what makers do, of several the first slab's. Cost: the makers', of a slab's own layers and of those beside it.
class GridSlabs {
 public:
  /// Of a matrix in memory of the host or of one GPU. `gpus`: CUDA's numbers of those that make slabs; {-1}: the host's
  /// threads. `fields`: what is kept as long as this.
  GridSlabs(const GridMatrix& A, const std::vector<int>& gpus, std::shared_ptr<const void> fields = nullptr);
  ~GridSlabs();  // makers free their memory at the same time, too
  const Extents& cells() const { return A_.cells; }
  i64 most_slabs() const { return i64(makers_.size()); }
  /// coupling_strengths() of grid_steps.hpp. Before divide(); reads some rows, where they are if that can be.
  std::array<double, 3> strengths();
  /// Takes the fields: a slab of the first level's layers from each of `cuts` to the next one, for all these levels, of the
  /// last of which P^T, P and the rows are wanted. Cuts are cuts of pairs on each level where these are of layers.
  void divide(const std::vector<i64>& cuts, const std::vector<SlabStep>& levels);
  SlabLevel first();
  SlabLevel next(const SlabLevel& fine);
  GridFacts facts(const SlabLevel& level);
  /// On the host.
  LargeCsr rows(const SlabLevel& level);
  /// MadeRows::fill() of rows of one slab.
  void fill(const SlabLevel& level, const Diagonals& diagonals, i64 first, i64 rows, double* to);
  /// How many pieces of memory makers have taken.
  i64 pieces() const;

 private:
  struct Layers {
    i64 first, begin, end, last;
  };
  Layers layers(std::size_t level, std::size_t slab) const;
  Extents cells_of(std::size_t level, std::size_t slab) const;
  MadeSlab placed(std::size_t level, std::size_t slab, MadeLevel made) const;
  template <class Act>
  void for_slabs(const Act& act);

  GridMatrix A_;
  std::shared_ptr<const void> fields_;
  std::vector<std::unique_ptr<GridMaker>> makers_;
  std::vector<GridMatrix> taken_ = {};  // slabs of the first level
  std::vector<SlabStep> levels_ = {};
  std::vector<std::vector<i64>> cuts_ = {};  // [levels][slabs + 1] in layers
  std::vector<i64> beside_ = {};             // [levels] of a neighbour's layers
  std::size_t made_ = 0;                     // levels
};

}  // namespace sordino
