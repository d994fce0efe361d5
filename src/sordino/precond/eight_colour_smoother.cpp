#include "sordino/precond/eight_colour_smoother.hpp"

#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_layers.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

using eight_colours::colours, eight_colours::layer_bit, eight_colours::slots;
static_assert(slots == GridNeighbours::count && eight_colours::inverse_diagonal == GridNeighbours::itself);

constexpr i64 least_rows = 1 << 10;  // that are worth a thread

eight_colours::Cells cells_of(const GridLevel& level, int rank) {
  const Layers layers = Layers::owned(level);
  eight_colours::Cells cells{};
  cells.shape = shape_of<double>(layers, rank);
  const int last = last_direction(level.cells);
  cells.first[last] = i32(HeldLayers(layers, rank).first % 2);
  cells.count = 1;
  i32 bit = 1;
  for (int d = 0; d < 3; d++) {
    cells.half[d] = (cells.shape.cells[d] + 1) / 2;
    cells.count *= cells.half[d];
    cells.bit[d] = d == last ? layer_bit : bit;
    if (d != last) bit *= 2;
  }
  return cells;
}

i64 numbers_of(const eight_colours::Cells& cells) { return i64(colours) * slots * cells.count; }

/// Cells of a colour, of each rank.
int space_of_colours(Rank& rank, const GridLevel& level) {
  std::vector<std::vector<i64>> cuts;
  i64 n = 0;
  for (int r = 0; r < rank.size(); r++) cuts.push_back({n}), n += cells_of(level, r).count;
  return rank.add_space(distributed_space(partition_at(n, cuts), rank.id()));
}

}  // namespace

EightColourSmoother::EightColourSmoother(Rank& rank, const GridLevels& levels, int l, int space)
    : levels_(levels),
      level_(l),
      space_(space),
      cells_(cells_of(levels.level(l), rank.id())),
      colour_space_(space_of_colours(rank, levels.level(l))),
      stored_(rank, numbers_of(cells_)) {
  const Layers layers = Layers::owned(levels.level(l));
  exchange_ = LayerWords<double>(layers, rank.id()).halo(rank, space);
  split_ = split_of_layers<double>(rank, layers, space, 1);
  cells_.stored = stored_.data();
  even_ = operand(rank, "x, even layers"), odd_ = operand(rank, "x, odd layers");
  EightColourSmoother::update_values(rank);
}

/// Cells that are not there keep zeros, which nobody reads.
void EightColourSmoother::update_values(Rank& rank) {
  const GridLevel& level = levels_.level(level_);
  const CsrView A = levels_.matrix(level_);
  const i64 first = level.partition.first_row(rank.id());
  stored_.fill([&](double* to) {
    for_parts(
        0, level.partition.rows(rank.id()),
        [&](i64 begin, i64 end) {
          GridNeighbours neighbours(level.cells);
          for (i64 i = begin; i < end; i++) {
            const i64 row = first + i, entries = A.begin(row);
            const eight_colours::Cells::Cell cell = cells_.cell(i32(i));
            const Extents at = place(level.cells, row);
            for (i64 k = entries; k < A.begin(row + 1); k++) {
              const int slot = neighbours.find(row, at, A.indices[k], std::size_t(k - entries));
              to[(i64(cell.colour) * slots + slot) * cells_.count + cell.place] =
                  slot == eight_colours::inverse_diagonal ? 1 / A.values[k] : A.values[k];
            }
          }
        },
        least_rows);
  });
}

/// Four colours of layers, from that one on.
void EightColourSmoother::relax(Rank& rank, int first, Vec x) const {
  for (int k = 0; k < layer_bit; k++) rank.run_over(colour_space_, eight_colours::Relax{cells_, first + k, x});
}
void EightColourSmoother::relax_back(Rank& rank, int first, Vec before, Vec x) const {
  for (int k = layer_bit; k-- > 0;) rank.run_over(colour_space_, eight_colours::RelaxBack{cells_, first + k, before, x});
}

void EightColourSmoother::apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const {
  rank.run(eight_colours::Begin{cells_, b, even_});
  relax(rank, 0, even_);
  rank.push_last(even_);
  rank.run_split(eight_colours::Across{cells_, layer_bit, b, even_, x}, split_);
  relax(rank, layer_bit, x);
  rank.push_last(x);
  rank.run_split(eight_colours::Left{cells_, x, left}, split_);
}

void EightColourSmoother::improve(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  rank.run_split(eight_colours::Across{cells_, layer_bit, b, x, odd_}, split_);
  relax_back(rank, layer_bit, x, odd_);
  rank.push_last(odd_);
  rank.run_split(eight_colours::Across{cells_, 0, b, odd_, to}, split_);
  relax_back(rank, 0, odd_, to);
}

void EightColourSmoother::leave(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  rank.run_split(eight_colours::Residual{cells_, b, x, to}, split_);
}

SmootherSize EightColourSmoother::size_of(const GridLevel& level, int rank) {
  const i64 held = LayerWords<double>(Layers::owned(level), rank).held(), rows = level.partition.rows(rank);
  return {held - rows, i64(sizeof(double)) * (2 * held + numbers_of(cells_of(level, rank)))};
}

}  // namespace sordino
