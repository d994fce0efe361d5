#include "sordino/precond/grid_transfers.hpp"

#include <algorithm>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

namespace sordino {
namespace {

/// Of a level, what a transfer knows of its rows: who owns them, or those whose aggregates they are.
struct Layers {
  const Extents& cells;
  const Partition& partition;
  bool is_periodic;

  static Layers owned(const GridLevel& level) { return {level.cells, level.partition, level.is_periodic}; }
  static Layers added(const GridLevel& level) { return {level.cells, level.adding, level.is_periodic}; }
};

/// What a rank holds of a level's vectors: whole layers, and those of others before and behind them.
struct HeldLayers {
  i64 first, end;            // in layers
  i64 before = 0, last = 0;  // numbers of others' layers, -1: none

  HeldLayers(const Layers& level, int rank) {
    const i64 layer = rows_of_layer(level.cells), all = level.partition.n / layer;
    first = level.partition.first_row(rank) / layer, end = level.partition.first_row(rank + 1) / layer;
    const bool all_are_own = first == end || end - first == all;
    const auto other = [&](i64 number) {
      const bool is_outside = number < 0 || number == all;
      return all_are_own || (is_outside && !level.is_periodic) ? -1 : (number + all) % all;
    };
    before = other(first - 1), last = other(end);
  }
  /// The others' layers, increasing.
  std::vector<i64> ghosts() const {
    std::vector<i64> layers;
    for (i64 layer : {before, last})
      if (layer >= 0) layers.push_back(layer);
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
  }
  /// Where a layer lies in the rank's vectors, in layers; `own` if it is none of others.
  i64 place(i64 layer, i64 own) const {
    const std::vector<i64> others = ghosts();
    return layer < 0 ? own : end - first + (std::lower_bound(others.begin(), others.end(), layer) - others.begin());
  }
};

LayerShape shape_of(const Layers& level, int rank) {
  LayerShape shape{};
  const HeldLayers held(level, rank);
  const std::size_t last = std::size_t(last_direction(level.cells));
  i64 stride = 1;
  for (std::size_t d = 0; d < 3; d++) {
    const i64 cells = d == last ? held.end - held.first : level.cells[d];
    shape.cells[d] = i32(cells), shape.stride[d] = i32(stride);
    shape.before[d] = i32((d == last ? held.place(held.before, cells - 1) : cells - 1) * stride);
    shape.behind[d] = i32((d == last ? held.place(held.last, 0) : 0) * stride);
    stride *= std::max<i64>(cells, 1);  // of a rank without layers: nobody divides by 0
  }
  return shape;
}

std::vector<i64> ghost_rows(const Layers& level, int rank) {
  const i64 layer = rows_of_layer(level.cells);
  std::vector<i64> rows;
  for (i64 number : HeldLayers(level, rank).ghosts())
    for (i64 i = 0; i < layer; i++) rows.push_back(number * layer + i);
  return rows;
}

/// Vectors of a level in turn, with the ghosts of whole layers.
class InTurns {
 public:
  InTurns(Rank& rank, const char* name, const Layers& level, int space)
      : exchange_(make_halo(rank, level.partition, rank.space(space), ghost_rows(level, rank.id()))) {
    for (int k = 0; k < count(rank.size()); k++) vectors_[k] = rank.vector(name, space, &exchange_);
  }
  Vec of_visit(unsigned number) const { return vectors_[vectors_[1].id < 0 ? 0 : number % 2]; }
  static int count(int ranks) { return ranks > 1 ? 2 : 1; }
  /// Of one rank, in all.
  static i64 words(const Layers& level, int rank) {
    return count(level.partition.ranks()) * (level.partition.rows(rank) + i64(ghost_rows(level, rank).size()));
  }

 private:
  Exchange exchange_;
  Vec vectors_[2];
};

bool moves(const GridLevel& coarse) {
  return coarse.adding.block_rows != coarse.partition.block_rows || coarse.adding.rank_blocks != coarse.partition.rank_blocks;
}

/// Between levels whose aggregates' rows lie on the same rank.
class GridTransfer : public LevelTransfer {
 public:
  GridTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : fine_(fine),
        coarse_(coarse),
        shape_{shape_of(Layers::owned(fine), rank.id()), shape_of(Layers::added(coarse), rank.id()), {}},
        fine_space_(fine_space),
        coarse_space_(coarse_space),
        to_coarse_(rank.vector("weights of a restriction", fine_space)),
        from_coarse_(rank.vector("weights of an interpolation", fine_space)),
        residuals_(rank, "r to be restricted", Layers::owned(fine), fine_space),
        corrections_(rank, "correction to be interpolated", Layers::added(coarse), coarse_space),
        split_fine_(split(rank, Layers::owned(fine), fine_space, fine.step)),
        split_coarse_(split(rank, Layers::added(coarse), coarse_space, {1, 1, 1})) {
    for (std::size_t d = 0; d < 3; d++) shape_.pairs[d] = fine.step[d] == 2;
    GridTransfer::update_values(rank);
  }
  void update_values(Rank& rank) override {
    const i64 first = fine_.partition.first_row(rank.id());
    rank.write(to_coarse_, reinterpret_cast<const double*>(coarse_.to_this.data() + first));
    rank.write(from_coarse_, reinterpret_cast<const double*>(coarse_.from_this.data() + first));
  }
  Vec residual() const override { return residuals_.of_visit(visits_); }
  Vec correction() const override { return corrections_.of_visit(visits_); }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override {
    rank.run_split_over(coarse_space_, RestrictResidual{shape_, residual, to_coarse_, to}, split_coarse_);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    rank.run_split_over(fine_space_, AddCorrection{shape_, e, from_coarse_, x, to}, split_fine_);
    visits_++;
  }

  static i64 words(const GridLevel& fine, const GridLevel& coarse, int rank) {
    const i64 weights = 2 * fine.partition.rows(rank);
    return weights + InTurns::words(Layers::owned(fine), rank) + InTurns::words(Layers::added(coarse), rank);
  }

 protected:
  int coarse_space() const { return coarse_space_; }  // of what a rank adds up
  unsigned visit() const { return visits_; }

 private:
  /// Rows that need no others' layers, and those of the first and the last `step` layers, which may.
  static Split split(Rank& rank, const Layers& level, int space, const Extents& step) {
    const HeldLayers held(level, rank.id());
    const i64 layer = rows_of_layer(level.cells), deep = step[std::size_t(last_direction(level.cells))];
    return CsrOperator::interior_and_boundary(rank.space(space), level.partition.first_row(rank.id()), 1, [&](i64 row) {
      const i64 at = row / layer;
      return (held.before >= 0 && at < held.first + deep) || (held.last >= 0 && at >= held.end - deep);
    });
  }

  const GridLevel &fine_, &coarse_;
  TransferShape shape_;
  int fine_space_, coarse_space_;
  Vec to_coarse_, from_coarse_;
  InTurns residuals_, corrections_;
  Split split_fine_, split_coarse_;
  mutable unsigned visits_ = 0;
};

/// Where other ranks own the coarse level than those whose aggregates its rows are: what is restricted goes there, and the
/// correction comes back before neighbours send each other their layers of it. What travels lies in two vectors by turns, for
/// who has sent the one knows that the other one has been read.
class MovingTransfer final : public GridTransfer {
 public:
  MovingTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : GridTransfer(rank, fine, coarse, fine_space, rank.add_space(distributed_space(coarse.adding, rank.id()))),
        owners_space_(coarse_space),
        down_(coarse.adding, coarse.partition, rank.id()),
        up_(coarse.partition, coarse.adding, rank.id()) {
    for (Vec& r : r_) r = down_.operand(rank, "restricted residual", GridTransfer::coarse_space());
    for (Vec& e : e_) e = up_.operand(rank, "correction of others", owners_space_);
  }
  Vec correction() const override { return e_[visit() % 2]; }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override {
    const Vec r = r_[visit() % 2];
    GridTransfer::restrict_residual(rank, residual, r);
    rank.push_last(r);
    down_.apply(rank, owners_space_, r, to);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    const Vec here = GridTransfer::correction();
    up_.apply(rank, GridTransfer::coarse_space(), e, here);
    rank.push_last(here);
    GridTransfer::add_correction(rank, here, x, to);
  }

  static i64 words(const GridLevel& coarse, int rank) {
    return 2 * (coarse.adding.rows(rank) + RowMove::ghosts_of(coarse.adding, coarse.partition, rank) +
                coarse.partition.rows(rank) + RowMove::ghosts_of(coarse.partition, coarse.adding, rank));
  }

 private:
  int owners_space_;
  RowMove down_, up_;
  Vec r_[2], e_[2];
};

}  // namespace

std::unique_ptr<LevelTransfer> GridLevels::transfer(Rank& rank, int l, int fine_space, int coarse_space) const {
  const GridLevel &fine = level(l), &coarse = level(l + 1);
  if (moves(coarse)) return std::make_unique<MovingTransfer>(rank, fine, coarse, fine_space, coarse_space);
  return std::make_unique<GridTransfer>(rank, fine, coarse, fine_space, coarse_space);
}

i64 GridLevels::transfer_bytes(int l, int rank, bool) const {
  const GridLevel& coarse = level(l + 1);
  return i64(sizeof(double)) *
         (GridTransfer::words(level(l), coarse, rank) + (moves(coarse) ? MovingTransfer::words(coarse, rank) : 0));
}

}  // namespace sordino
