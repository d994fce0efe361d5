#include "sordino/precond/grid_transfers.hpp"

#include <algorithm>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

namespace sordino {
namespace {

/// What a rank holds of a level's vectors: whole layers, and those of others before and behind them.
struct HeldLayers {
  i64 first, end;            // in layers
  i64 before = 0, last = 0;  // numbers of others' layers, -1: none

  HeldLayers(const GridLevel& level, int rank) {
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

LayerShape shape_of(const GridLevel& level, int rank) {
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

std::vector<i64> ghost_rows(const GridLevel& level, int rank) {
  const i64 layer = rows_of_layer(level.cells);
  std::vector<i64> rows;
  for (i64 number : HeldLayers(level, rank).ghosts())
    for (i64 i = 0; i < layer; i++) rows.push_back(number * layer + i);
  return rows;
}

/// Vectors of a level in turn, with the ghosts of whole layers.
class InTurns {
 public:
  InTurns(Rank& rank, const char* name, const GridLevel& level, int space)
      : exchange_(make_halo(rank, level.partition, rank.space(space), ghost_rows(level, rank.id()))) {
    for (int k = 0; k < count(rank.size()); k++) vectors_[k] = rank.vector(name, space, &exchange_);
  }
  Vec of_visit(unsigned number) const { return vectors_[vectors_[1].id < 0 ? 0 : number % 2]; }
  static int count(int ranks) { return ranks > 1 ? 2 : 1; }

 private:
  Exchange exchange_;
  Vec vectors_[2];
};

class GridTransfer final : public LevelTransfer {
 public:
  GridTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : fine_(fine),
        coarse_(coarse),
        shape_{shape_of(fine, rank.id()), shape_of(coarse, rank.id()), {}},
        fine_space_(fine_space),
        coarse_space_(coarse_space),
        to_coarse_(rank.vector("weights of a restriction", fine_space)),
        from_coarse_(rank.vector("weights of an interpolation", fine_space)),
        residuals_(rank, "r to be restricted", fine, fine_space),
        corrections_(rank, "correction to be interpolated", coarse, coarse_space),
        split_fine_(split(rank, fine, fine_space, fine.step)),
        split_coarse_(split(rank, coarse, coarse_space, {1, 1, 1})) {
    for (std::size_t d = 0; d < 3; d++) shape_.pairs[d] = fine.step[d] == 2;
    update_values(rank);
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

 private:
  /// Rows that need no others' layers, and those of the first and the last `step` layers, which may.
  static Split split(Rank& rank, const GridLevel& level, int space, const Extents& step) {
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

}  // namespace

std::unique_ptr<LevelTransfer> GridLevels::transfer(Rank& rank, int l, int fine_space, int coarse_space) const {
  return std::make_unique<GridTransfer>(rank, level(l), level(l + 1), fine_space, coarse_space);
}

i64 GridLevels::transfer_bytes(int l, int rank, bool) const {
  const auto rows_of = [&](const GridLevel& level) { return level.partition.rows(rank) + i64(ghost_rows(level, rank).size()); };
  return i64(sizeof(double)) *
         (2 * partition(l).rows(rank) + InTurns::count(partition(l).ranks()) * (rows_of(level(l)) + rows_of(level(l + 1))));
}

}  // namespace sordino
