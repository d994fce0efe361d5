#include "sordino/precond/grid_neighbours.hpp"

#include <algorithm>
#include <cstdlib>

namespace sordino {

GridNeighbours::GridNeighbours(const Extents& cells)
    : cells_(cells), is_unique_(std::find(cells.begin(), cells.end(), 2) == cells.end()) {
  for (int number = 0; number < count; number++) {
    const Extents by = steps_[std::size_t(number)] = step(number);
    bool is_there = true;
    for (std::size_t d = 0; d < 3; d++) is_there = is_there && (by[d] == 0 || cells[d] > 1);
    offsets_[std::size_t(number)] = is_there ? row_of(cells, by) : nowhere;
    all_[std::size_t(number)] = i32(row_of(cells, by));
  }
}

int GridNeighbours::by_offset(i64 offset) const {
  const auto at = std::find(offsets_.begin(), offsets_.end(), offset);
  return at == offsets_.end() ? -1 : int(at - offsets_.begin());
}

int GridNeighbours::by_place(const Extents& at, i64 column) const {
  const Extents to = place(cells_, column);
  int number = 0;
  for (std::size_t d = 3; d-- > 0;) {
    const i64 by = step_between(at[d], to[d], cells_[d]);
    if (std::abs(by) > 1) return -1;
    number = 3 * number + int(by) + 1;
  }
  return number;
}

}  // namespace sordino
