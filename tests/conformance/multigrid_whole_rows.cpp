// Levels of 27 points, whose rows inside the box need no search for their columns: they are those of rows that need one.
#include <cstring>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

template <class A>
bool same_bits_of(const A& a, const A& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0;
}

/// Symmetric, of 27 points, each coupling its own number, and many of those in x zero, which are never all that two aggregates
/// have in common: stored, or left out.
CsrMatrix with_zeros(const Extents& cells, u64 stream, bool stored) {
  fresh::Random random(stream);
  matrices::Rows rows = matrices::rows(poisson(cells[0], cells[1], cells[2], 27, 1));
  for (std::size_t row = 0; row < rows.size(); row++) {
    const bool has_zero = random.chance(0.5);
    for (auto& [column, value] : rows[row]) {
      if (std::size_t(column) <= row) continue;
      const double coupling = has_zero && std::size_t(column) == row + 1 ? 0.0 : -random.real(0.5, 1.5);
      rows[row][column] = rows[std::size_t(column)][i32(row)] = coupling;
    }
  }
  for (std::size_t row = 0; row < rows.size(); row++) {
    double sum = 0;
    for (const auto& [column, value] : rows[row]) sum += std::size_t(column) == row ? 0 : value;
    rows[row][i32(row)] = 0.1 - sum;
    if (!stored) std::erase_if(rows[row], [](const auto& entry) { return entry.second == 0; });
  }
  return matrices::csr(rows);
}

}  // namespace

TEST("levels of 27 points: a zero that is stored makes the levels of one that is not, bit by bit") {
  NOTE(fresh::said());
  fresh::Random random(881);
  for (int trial = 0; trial < 3; trial++) {
    const Extents cells{2 * random.whole(3, 7), 2 * random.whole(3, 7), 2 * random.whole(4, 8)};
    NOTE("cells ", shown(cells));
    const CsrMatrix whole = with_zeros(cells, 882 + u64(trial), true), searched = with_zeros(cells, 882 + u64(trial), false);
    CHECK(searched.values.size() + 100 < whole.values.size());
    const GridLevels a(whole.view(), cells, layers_of(whole, cells, 1)), b(searched.view(), cells, layers_of(whole, cells, 1));
    CHECK(a.count() == b.count());
    CHECK(a.last_grid() >= 1);
    for (int l = 0; l <= a.last_grid(); l++) {
      CHECK(a.level(l).bound == b.level(l).bound);
      CHECK(a.level(l).has_phases == b.level(l).has_phases);
      CHECK(same_bits_of(a.level(l).takes_part, b.level(l).takes_part));
      CHECK(same_bits_of(a.level(l).from_this, b.level(l).from_this));
      CHECK(same_bits_of(a.level(l).to_this, b.level(l).to_this));
      CHECK(same_bits_of(a.level(l).A.values, b.level(l).A.values));
      CHECK(same_bits_of(a.level(l).A.indices, b.level(l).A.indices));
    }
  }
}
