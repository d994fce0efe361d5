// The part of grid_coarsening.hpp for matrices whose cells are coupled through their faces alone, and not across the ends of
// the box: seven entries a row, in an order that is known, so that nobody looks for neighbours.
#pragma once
#include <array>

#include "sordino/precond/cross_row.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {

/// Reads such rows from CSR. Entries are numbered in the order of columns, the row's own being 3.
class CrossReader {
 public:
  static constexpr std::size_t slots = 7, itself = 3;

  CrossReader(const CsrView& A, const Extents& cells) : A_(A), cells_(cells) {
    i64 stride = 1;
    for (std::size_t d = 0; d < 3; stride *= cells[d++])
      offsets_[slot(int(d), 1)] = cells[d] > 1 ? stride : nowhere, offsets_[slot(int(d), 0)] = -offsets_[slot(int(d), 1)];
  }
  static constexpr std::size_t slot(int d, int side) { return std::size_t(side == 0 ? 2 - d : 4 + d); }
  i64 offset(std::size_t slot) const { return offsets_[slot]; }

  /// Whether all of a row's entries are of the cell at `at` and of cells beyond its faces.
  bool holds(i64 row, const Extents& at) const {
    i64 k = A_.begin(row);
    const i64 end = A_.begin(row + 1);
    for (std::size_t s = 0; s < slots; s++) k += k < end && A_.indices[k] == row + offsets_[s] && is_inside(at, s);
    return k == end;
  }
  /// Of a matrix of which all hold; `there`: a bit for each entry that is stored.
  CrossRow row(i64 row, u32& there) const {
    constexpr u32 all = (1u << slots) - 1;
    const i64 begin = A_.begin(row), end = A_.begin(row + 1);
    const double* const v = A_.values + begin;
    there = all;
    if (end - begin == i64(slots)) return {v[itself], {{v[2], v[4]}, {v[1], v[5]}, {v[0], v[6]}}};
    std::array<double, slots> found{};
    there = 0;
    i64 k = begin;
    for (std::size_t s = 0; s < slots && k < end; s++) {
      if (A_.indices[k] != row + offsets_[s]) continue;
      found[s] = A_.values[k++];
      there |= 1u << s;
    }
    return {found[itself], {{found[2], found[4]}, {found[1], found[5]}, {found[0], found[6]}}};
  }

 private:
  static constexpr i64 nowhere = i64(1) << 40;  // in a direction of one cell

  bool is_inside(const Extents& at, std::size_t slot) const {
    if (slot == itself) return true;
    const std::size_t d = slot < itself ? 2 - slot : slot - 4;
    return slot < itself ? at[d] > 0 : at[d] + 1 < cells_[d];
  }

  const CsrView& A_;
  Extents cells_;
  std::array<i64, slots> offsets_{0};
};

/// coarsen() of such a level, but for what aggregates take from cells behind.
void coarsen_cross(const CsrView& A, const GridLevel& fine, GridLevel& coarse);

}  // namespace sordino
