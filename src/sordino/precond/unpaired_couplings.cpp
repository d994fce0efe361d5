#include "sordino/precond/unpaired_couplings.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread

}  // namespace

UnpairedCouplings::UnpairedCouplings(const GridLevel& fine, const GridLevel& coarse) : cells_(coarse.cells) {
  const bool has_pairs = fine.step != Extents{1, 1, 1};  // else rows only move to other ranks
  for (std::size_t d = 0; d < 3 && fine.has_edges && has_pairs; d++) {
    if (fine.step[d] == 2 || fine.cells[d] == 1) continue;
    for (std::size_t n = 0; n < slots; n++)
      steps_[n] = std::uint8_t(3 * steps_[n] + std::size_t(GridNeighbours::step(int(n))[d] + 1));
    count_ *= 3;
  }
  for (std::size_t n = 0; n < slots; n++) {
    const Extents by = GridNeighbours::step(int(n));
    is_along_[n] = true;
    for (std::size_t d = 0; d < 3; d++)
      if (by[d] != 0 && (fine.step[d] == 2 || fine.cells[d] == 1)) is_along_[n] = false;
  }
  is_along_[std::size_t(GridNeighbours::itself)] = false;
  if (are_there()) given_ = LargeArray<double>(std::size_t(coarse.partition.n) * count_);
}

void UnpairedCouplings::set(i64 i, const Row& row) {
  std::copy(row.begin(), row.begin() + std::ptrdiff_t(count_), given_.data() + std::size_t(i) * count_);
}

void UnpairedCouplings::add_to(LargeCsr& A) const {
  const auto complete = [&](GridNeighbours& neighbours, i64 row, const Extents& at) {
    double added = 0;
    double* diagonal = nullptr;
    const i64 begin = A.indptr[std::size_t(row)], end = A.indptr[std::size_t(row + 1)];
    for (i64 k = begin; k < end; k++) {
      const i64 column = A.indices[std::size_t(k)];
      double& value = A.values[std::size_t(k)];
      const std::size_t to = std::size_t(neighbours.find(row, at, column, std::size_t(k - begin)));
      if (column == row) diagonal = &value;
      if (!is_along_[to]) continue;
      const double more = 0.5 * (this->at(row, to) + this->at(column, slots - 1 - to));
      value += more, added += more;
    }
    *diagonal -= added;
    if (!(*diagonal > 0)) *diagonal = 1;  // of an aggregate in which no cell takes part
  };
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        GridNeighbours neighbours(cells_);
        Extents at = place(cells_, begin);
        for (i64 row = begin; row < end; row++, advance(at, cells_)) complete(neighbours, row, at);
      },
      least_rows);
}

}  // namespace sordino
