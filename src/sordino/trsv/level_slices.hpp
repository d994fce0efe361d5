// Rows in the order of their levels, cut into slices that a warp of a GPU takes: what its lanes load at the same time lies
// together.
#pragma once
#include <vector>

#include "sordino/base/parallel.hpp"
#include "sordino/trsv/level_rows.hpp"

namespace sordino::trsv {

/// Rows first_row, ..., one a lane: entry e of lane l is entries + e * rows + l. Or one row of more than `long_row` entries,
/// which the lanes share: entry e of the row is entries + e, that of lane e % 32.
struct alignas(16) LevelSlice {
  i64 entries = 0;
  i32 first_row = 0;
  u32 rows : 6 = 0;    // 0: one long row
  u32 width : 26 = 0;  // entries that a lane has at most; there are places for as many of each
};

struct alignas(16) LevelRow {
  i32 row = 0;      // of the triangle
  i32 place = 0;    // of its x
  i32 count = 0;    // entries off the diagonal
  u32 readers = 0;  // other ranks that need its x
};

class LevelSlices {
 public:
  /// The next row. A slice ends where a row would leave more places empty than it fills; a long row has one of its own.
  void add(const LevelRow& row);

  const std::vector<LevelSlice>& slices() const { return slices_; }
  const std::vector<LevelRow>& rows() const { return rows_; }
  i64 slots() const;  // places of entries, of which half are empty at most, about
  /// `visit(slot, row, entry of the row)` for all entries: `slot` is an entry's place, `row` one of rows(). By so many
  /// threads, which take slices; 0: as many as there are cores.
  template <class Visit>
  void each_slot(const Visit& visit, int threads = 1) const;

 private:
  std::vector<LevelSlice> slices_;
  std::vector<LevelRow> rows_;
  i64 in_slice_ = 0;  // entries of the last one
};

template <class Visit>
void LevelSlices::each_slot(const Visit& visit, int threads) const {
  const auto visit_slice = [&](const LevelSlice& s) {
    const i32 together = s.rows > 0 ? i32(s.rows) : 1;
    for (i32 lane = 0; lane < together; lane++) {
      const std::size_t row = std::size_t(s.first_row + lane);
      for (i32 e = 0; e < rows_[row].count; e++) visit(s.entries + i64(e) * together + lane, row, e);
    }
  };
  constexpr i64 some = 1 << 10;  // slices
  for_parts(
      0, i64(slices_.size()),
      [&](i64 begin, i64 end) {
        for (i64 k = begin; k < end; k++) visit_slice(slices_[std::size_t(k)]);
      },
      some, threads);
}

}  // namespace sordino::trsv
