// Levels that are made of a grid's fields in slabs, one for each rank by a maker of its own, beside those of its rows.
#include "check.hpp"
#include "made_levels.hpp"
#include "sordino/base/error.hpp"

using namespace made_levels;

namespace {

/// What ranks multiply by on level l, beside what levels of one maker fill in.
void check_same_fills(const GridLevels& slabs, const GridLevels& one, int l) {
  const MadeRows a = slabs.made(l), b = one.made(l);
  const Partition& rows = slabs.partition(l);
  for (int rank = 0; rank < rows.ranks(); rank++)
    for (bool symmetric : {false, true}) {
      const Diagonals diagonals{.offsets = a.diagonals.offsets, .symmetric = symmetric};
      const std::size_t stored = std::size_t(DiagonalPlaces(diagonals, rows.rows(rank)).stored);
      std::vector<double> here(stored, 0.0), there(stored, 0.0);
      a.fill(diagonals, rows.first_row(rank), rows.rows(rank), here.data());
      b.fill(diagonals, rows.first_row(rank), rows.rows(rank), there.data());
      CHECK(here == there);
    }
}

i64 slabs_of_level(const GridLevels& levels, int l) { return i64(levels.level(l).made.slabs.size()); }

}  // namespace

TEST("slabs: levels have the bits of those of rows, on any number of ranks, with walls, solids and contrast") {
  NOTE(fresh::said());
  fresh::Random random(971);
  int in_slabs = 0;
  for (int trial = 0; trial < 8; trial++) {
    const Extents cells{random.whole(37, 70), random.whole(37, 70), random.whole(48, 90)};
    const int ranks = int(random.whole(2, 6));
    const Fields f = fields::random(cells, wanted(trial, random), random);
    NOTE(shown(cells), ", trial ", trial, ", ", ranks, " ranks");
    const GridLevels levels = levels_of(f.view(), ranks, ranks), one = levels_of(f.view(), ranks);
    const int made = check_same_levels(levels, levels_of(rows_of(f.view()).view(), cells, ranks));
    CHECK(made >= 1);
    CHECK(slabs_of_level(one, 0) == 1);
    in_slabs += slabs_of_level(levels, 0) == ranks;
    for (int l = 0; l < made; l++) check_same_fills(levels, one, l);
  }
  CHECK(in_slabs >= 6);
}

TEST("slabs: of several levels that stay where they are made, and of planes and lines") {
  NOTE(fresh::said());
  fresh::Random random(972);
  for (const Extents& cells : {Extents{67, 65, 128}, Extents{401, 512, 1}, Extents{1, 301, 700}, Extents{280'000, 1, 1}}) {
    const Fields f = fields::random(cells, {.digits = 3, .solid = 0.05}, random);
    NOTE(shown(cells));
    const GridLevels levels = levels_of(f.view(), 4, 4);
    CHECK(slabs_of_level(levels, 0) == 4);
    CHECK(check_same_levels(levels, levels_of(rows_of(f.view()).view(), cells, 4)) >= 2);
  }
}

TEST("slabs: there is one where ranks hand layers on, or coarse levels have layers in another direction") {
  NOTE(fresh::said());
  fresh::Random random(973);
  for (const Extents& cells : {Extents{400, 360, 3}, Extents{400, 300, 2}}) {
    const Fields f = fields::random(cells, {.digits = 2}, random);
    NOTE(shown(cells));
    const GridLevels levels = levels_of(f.view(), 2, 2);
    CHECK(slabs_of_level(levels, 0) == 1);
    check_same_levels(levels, levels_of(rows_of(f.view()).view(), cells, 2));
  }
}

TEST("slabs: a bad row is told by its number in the grid, the first one of all slabs") {
  NOTE(fresh::said());
  fresh::Random random(974);
  const Extents cells{33, 34, 64};
  const i64 n = cells[0] * cells[1] * cells[2];
  for (int trial = 0; trial < 4; trial++) {
    Fields f = fields::random(cells, {}, random);
    const i64 first = random.whole(0, n - 1), later = random.whole(first, n - 1);
    f.diagonal[std::size_t(first)] = -1, f.diagonal[std::size_t(later)] = trial % 2 == 0 ? -2 : std::nan("");
    const bool is_nan = trial % 2 != 0 && later == first;
    const std::string told = "row " + std::to_string(first) + " of the grid's matrix " +
                             (is_nan ? "holds a NaN or Inf" : "has a diagonal that is not positive");
    CHECK_THROWS(levels_of(f.view(), 4, 4), Error, told);
  }
}
