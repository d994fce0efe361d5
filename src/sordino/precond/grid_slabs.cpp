#include "sordino/precond/grid_slabs.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/level_ranks.hpp"

namespace sordino {
namespace {

/// The slab whose rows, those that it is there for, reach beyond this one.
const MadeSlab& slab_of(const std::vector<MadeSlab>& slabs, i64 row, i64 MadeSlab::* end) {
  const auto found = std::find_if(slabs.begin(), slabs.end(), [&](const MadeSlab& s) { return row < s.*end; });
  return found == slabs.end() ? slabs.back() : *found;
}

/// Whole layers of fields.
GridMatrix part_of(const GridMatrix& A, i64 first, i64 layers) {
  const std::size_t last = std::size_t(last_direction(A.cells));
  const i64 row = first * rows_of_layer(A.cells);
  GridMatrix part = A;
  part.cells[last] = layers;
  part.diagonal += row;
  for (std::size_t d = 0; d < 3; d++)
    if (A.cells[d] > 1) part.ahead[d] += row;
  return part;
}

}  // namespace

const MadeSlab& SlabLevel::of_row(i64 row) const { return slab_of(slabs, row, &MadeSlab::end); }

const double* SlabLevel::inverse_diagonal(i64 row) const {
  const MadeSlab& slab = of_row(row);
  return slab.made.inverse_diagonal + (row - slab.first);
}

const CellWeights* SlabLevel::weights(i64 fine_row, const CellWeights* MadeLevel::* which) const {
  const MadeSlab& slab = slab_of(slabs, fine_row, &MadeSlab::fine_end);
  return slab.made.*which + (fine_row - slab.fine_first);
}

GridSlabs::GridSlabs(const GridMatrix& A, const std::vector<int>& gpus, std::shared_ptr<const void> fields)
    : A_(A), fields_(std::move(fields)) {
  for (int gpu : gpus) makers_.push_back(grid_maker(gpu));
}

GridSlabs::~GridSlabs() {
  try {
    for_slabs([&](std::size_t k) { makers_[k] = nullptr; });
  } catch (...) {  // no memory for threads: one after the other
  }
}

std::array<double, 3> GridSlabs::strengths() {
  for (const auto& maker : makers_)
    if (maker->reads(A_.diagonal)) return maker->strengths(A_);
  if (is_on_host(A_.diagonal)) return grid_maker(-1)->strengths(A_);
  return makers_.front()->strengths(makers_.front()->taken(A_));
}

void GridSlabs::divide(const std::vector<i64>& cuts, const std::vector<SlabStep>& levels) {
  levels_ = levels;
  const std::size_t last = std::size_t(last_direction(A_.cells)), slabs = cuts.size() - 1;
  makers_.resize(slabs);
  cuts_.assign(1, cuts);
  for (std::size_t l = 1; l < levels.size(); l++) {
    std::vector<i64> next = cuts_.back();
    for (i64& cut : next) cut = (cut + levels[l - 1].step[last] - 1) / levels[l - 1].step[last];  // the last one may be odd
    cuts_.push_back(std::move(next));
  }
  beside_.assign(levels.size(), slabs > 1 ? 1 : 0);
  for (std::size_t l = levels.size() - 1; l-- > 0;) beside_[l] = beside_[l + 1] * levels[l].step[last];
  taken_.resize(slabs);
  for_slabs([&](std::size_t k) {
    const Layers own = layers(0, k);
    taken_[k] = makers_[k]->taken(part_of(A_, own.first, own.last - own.first));
    std::vector<Extents> cells;
    for (std::size_t l = 0; l < levels_.size(); l++) cells.push_back(cells_of(l, k));
    makers_[k]->expect(cells);
  });
}

SlabLevel GridSlabs::first() {
  made_ = 0;
  SlabLevel level{std::vector<MadeSlab>(taken_.size())};
  for_slabs([&](std::size_t k) { level.slabs[k] = placed(0, k, makers_[k]->first(taken_[k])); });
  return level;
}

SlabLevel GridSlabs::next(const SlabLevel& fine) {
  made_++;
  SlabLevel level{std::vector<MadeSlab>(taken_.size())};
  for_slabs([&](std::size_t k) {
    level.slabs[k] = placed(made_, k, makers_[k]->next(fine.slabs[k].made, levels_[made_ - 1].step, cells_of(made_, k)));
  });
  return level;
}

GridFacts GridSlabs::facts(const SlabLevel& level) {
  std::vector<GridFacts> of_slabs(level.slabs.size());
  for_slabs([&](std::size_t k) {
    const MadeSlab& slab = level.slabs[k];
    GridFacts& facts = of_slabs[k] = makers_[k]->facts(slab.made.A, slab.begin - slab.first, slab.end - slab.begin);
    for (i64* row : {&facts.not_positive, &facts.not_finite})
      if (*row != GridFacts::none) *row += slab.first;
  });
  GridFacts all;
  for (const GridFacts& facts : of_slabs) all.merge(facts);
  return all;
}

LargeCsr GridSlabs::rows(const SlabLevel& level) {
  GridMatrix here{.cells = levels_[made_].cells};
  std::array<LargeArray<double>, 4> arrays;
  for (std::size_t d = 0; d < 4; d++) {
    const auto array_of = [&](const GridMatrix& A) { return d < 3 ? A.ahead[d] : A.diagonal; };
    if (!array_of(level.slabs.front().made.A)) continue;
    arrays[d] = LargeArray<double>(std::size_t(here.n()));
    for_slabs([&](std::size_t k) {
      const MadeSlab& slab = level.slabs[k];
      makers_[k]->fetch(arrays[d].data() + slab.begin, array_of(slab.made.A) + (slab.begin - slab.first),
                        slab.end - slab.begin);
    });
    (d < 3 ? here.ahead[d] : here.diagonal) = arrays[d].data();
  }
  return rows_of(here);
}

void GridSlabs::fill(const SlabLevel& level, const Diagonals& diagonals, i64 first, i64 rows, double* to) {
  const MadeSlab& slab = level.of_row(first);
  makers_[std::size_t(&slab - level.slabs.data())]->fill(slab.made.A, diagonals, first - slab.first, rows, to);
}

i64 GridSlabs::pieces() const {
  i64 sum = 0;
  for (const auto& maker : makers_) sum += maker->pieces();
  return sum;
}

GridSlabs::Layers GridSlabs::layers(std::size_t level, std::size_t slab) const {
  const i64 count = cuts_[level].back(), begin = cuts_[level][slab], end = cuts_[level][slab + 1], beside = beside_[level];
  return {std::max<i64>(begin - beside, 0), begin, end, std::min(end + beside, count)};
}

Extents GridSlabs::cells_of(std::size_t level, std::size_t slab) const {
  Extents cells = levels_[level].cells;
  const Layers own = layers(level, slab);
  cells[std::size_t(last_direction(A_.cells))] = own.last - own.first;
  return cells;
}

MadeSlab GridSlabs::placed(std::size_t level, std::size_t slab, MadeLevel made) const {
  MadeSlab found{.made = made};
  const auto rows = [&](std::size_t l, i64& first, i64& begin, i64& end) {
    const Layers own = layers(l, slab);
    const i64 layer = GridMatrix{.cells = levels_[l].cells}.n() / cuts_[l].back();
    first = own.first * layer, begin = own.begin * layer, end = own.end * layer;
  };
  rows(level, found.first, found.begin, found.end);
  if (level > 0) rows(level - 1, found.fine_first, found.fine_begin, found.fine_end);
  return found;
}

/// At the same time; what one throws is thrown, of several the first slab's.
template <class Act>
void GridSlabs::for_slabs(const Act& act) {
  for_parts(
      0, i64(taken_.size()),
      [&](i64 begin, i64 end) {
        for (i64 k = begin; k < end; k++) act(std::size_t(k));
      },
      1);
}

}  // namespace sordino
