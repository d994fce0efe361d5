#include "sordino/precond/tile_factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr double lost = 1e-14;  // of a positive pivot: what rounding leaves of zero
constexpr double no_entry = std::numeric_limits<double>::quiet_NaN();

/// visit(entry, cell) for those of a row that lie in its tile.
template <class Visit>
void each_inside(const CsrView& A, const TiledRows& rows, i32 row, i32 t, const Visit& visit) {
  const i64 in_A = rows.first_row + row;
  for (i64 k = A.begin(in_A); k < A.begin(in_A + 1); k++) {
    const i64 column = A.indices[k] - rows.first_row;
    if (column < 0 || column >= rows.tiles.rows()) continue;
    const auto place = rows.place(i32(column));
    if (place.tile == t) visit(k, place.cell);
  }
}

}  // namespace

std::vector<i32> shifts_of(const CsrView& A, const TiledRows& rows) {
  std::vector<i32> all;
  std::mutex mutex;
  for_parts(0, rows.tiles.rows(), [&](i64 begin, i64 end) {
    std::vector<i32> found;
    for (i32 row = i32(begin); row < end; row++) {
      const auto here = rows.place(row);
      each_inside(A, rows, row, here.tile, [&](i64, i32 cell) {
        const i32 shift = std::abs(cell - here.cell);
        if (shift > 0 && std::find(found.begin(), found.end(), shift) == found.end()) found.push_back(shift);
      });
    }
    std::lock_guard lock(mutex);
    all.insert(all.end(), found.begin(), found.end());
  });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

TileFactor::TileFactor(const TiledRows& rows, const std::vector<i32>& shifts)
    : rows_(rows),
      tiles_(rows.tiles),
      shifts_(shifts),
      pivot_(i32(shifts.size())),
      slots_(2 * pivot_ + 1),
      entries_(std::size_t(tiles_.cells()) * std::size_t(slots_)) {
  for (i32 l : shifts_)
    for (i32 u : shifts_) meets_.push_back(slot_of(u - l));
}

/// Of the entry `shift` cells behind the pivot.
i32 TileFactor::slot_of(i32 shift) const {
  if (shift == 0) return pivot_;
  auto found = std::lower_bound(shifts_.begin(), shifts_.end(), std::abs(shift));
  if (found == shifts_.end() || *found != std::abs(shift)) return none;
  return i32(found - shifts_.begin()) + (shift > 0 ? pivot_ + 1 : 0);
}

double TileFactor::entry(i32 cell, i32 slot) const {
  const double value = at(cell, slot);
  return std::isnan(value) ? 0 : value;
}

void TileFactor::take(const CsrView& A, i32 t, i32 cell) {
  const i32 x = cell % tiles_.tile[0], y = cell / tiles_.tile[0] % tiles_.tile[1], z = cell / (tiles_.tile[0] * tiles_.tile[1]);
  const auto line = tiles_.line(t, y, z);
  at(cell, pivot_) = x < line.inside ? 0 : 1;  // beyond the box there is nothing to solve
  if (x >= line.inside) return;
  each_inside(A, rows_, rows_.row(line.first + x), t,
              [&](i64 k, i32 column) { at(cell, slot_of(column - cell)) = A.values[k]; });
}

/// Row `cell` minus multiples of those before it, in increasing order of columns.
void TileFactor::eliminate(i32 cell) {
  for (i32 d = pivot_; d-- > 0;) {
    if (std::isnan(at(cell, d))) continue;
    const i32 before = cell - shifts_[std::size_t(d)];
    const double factor = at(cell, d) /= at(before, pivot_);
    for (i32 e = 0; e < pivot_; e++) {
      const i32 slot = meets_[std::size_t(d * pivot_ + e)];
      if (slot != none) at(cell, slot) -= factor * entry(before, pivot_ + 1 + e);  // NaN stays, where there is no entry
    }
  }
}

i32 TileFactor::factorize(const CsrView& A, i32 t, bool positive) {
  std::fill(entries_.begin(), entries_.end(), no_entry);
  for (i32 cell = 0; cell < tiles_.cells(); cell++) {
    take(A, t, cell);
    const double diagonal = at(cell, pivot_);
    eliminate(cell);
    const double pivot = at(cell, pivot_);
    if (std::isfinite(pivot) && (positive ? pivot > lost * diagonal : pivot != 0)) continue;
    const i32 line = cell / tiles_.tile[0];
    return rows_.row(tiles_.line(t, line % tiles_.tile[1], line / tiles_.tile[1]).first + cell % tiles_.tile[0]);
  }
  return none;
}

void TileFactor::keep_diagonal(const CsrView& A, i32 t) {
  std::fill(entries_.begin(), entries_.end(), no_entry);
  for (i32 cell = 0; cell < tiles_.cells(); cell++) {
    take(A, t, cell);
    for (i32 slot = 0; slot < slots_; slot++)
      if (slot != pivot_) at(cell, slot) = no_entry;
  }
}

void store(const TileFactor& factor, const TileLayout& l, int width, i32 t, double scale, double* to) {
  double* word = to + i64(t / width) * width * l.cells * l.slots + t % width;
  auto put = [&](double value) {
    *word = value;
    word += width;
  };
  for (i32 cell = 0; cell < l.cells; cell++) {
    for (i32 d = 0; d < l.offdiagonals; d++) put(factor.lower(cell, d));
    put(scale * factor.inverse_pivot(cell));
    for (i32 d = 0; l.has_upper() && d < l.offdiagonals; d++) put(factor.upper(cell, d));
  }
}

}  // namespace sordino
