// Runs of rows whose entries lie alike, where a matrix has its diagonals in another order than its rows: a line of a box's
// cells has one in its middle, and one at each end that has neighbours elsewhere.
#pragma once
#include <bit>
#include <vector>

#include "sordino/linalg/csr_operator.hpp"

namespace sordino {

/// Of one run and one diagonal.
struct alignas(8) RunDiagonal {  // one load
  u32 at;      // row i's entry is values[at + i], modulo 2^32; of constant ones that of kind k: values[at + k diagonals]
  i32 offset;  // its column is storage row i + offset

  static constexpr u32 unit = ~u32(0);  // with offset 0: the entry is 1, and not kept
  SORDINO_HD bool is_unit() const { return at == unit && offset == 0; }
  bool operator==(const RunDiagonal&) const = default;
};

/// Where runs begin, of 32 rows.
struct alignas(8) RunStarts {
  u32 before;  // how many begin in the rows before these
  u32 begins;  // bit r: one begins at row r of these
};

/// What rows find their entries by. Cost: 8 B for 32 rows, and 8 B a diagonal for each run.
struct RowRuns {
  std::vector<RunStarts> starts;       // [ceil(rows / 32)]
  std::vector<RunDiagonal> diagonals;  // [runs][count]
  i64 stored = 0;                      // values in all

  struct RunsView view(i32 count) const;
  i64 bytes() const { return i64(sizeof(RunStarts) * starts.size() + sizeof(RunDiagonal) * diagonals.size()); }
};

/// The same where a functor reads it. Rows are counted from the slice's first.
struct RunsView {
  const RunStarts* starts;
  const RunDiagonal* diagonals;
  i32 count;  // of diagonals
  i64 bytes;  // that a product reads of it

  SORDINO_HD const RunDiagonal* of(u32 row) const {
    const RunStarts s = starts[row / 32];
    const u32 until = s.begins & (~u32(0) >> (31 - row % 32));
#ifdef __CUDA_ARCH__
    const u32 begun = u32(__popc(until));
#else
    const u32 begun = u32(std::popcount(until));
#endif
    return diagonals + std::size_t(s.before + begun - 1) * std::size_t(count);
  }
  /// Where the run of a row ends, or `end`, if it goes beyond.
  u32 end_of(u32 row, u32 end) const {
    u32 word = row / 32, later = row % 32 == 31 ? 0 : starts[word].begins & (~u32(0) << (row % 32 + 1));
    while (later == 0 && (word + 1) * 32 < end) later = starts[++word].begins;
    return later == 0 ? end : std::min(end, word * 32 + u32(std::countr_zero(later)));
  }
};

inline RunsView RowRuns::view(i32 count) const { return {starts.data(), diagonals.data(), count, bytes()}; }

/// The diagonal of each entry of a slice, by its number, [entries].
std::vector<std::uint8_t> diagonals_of_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals);

/// Runs of a slice's rows. `columns`: storage rows, of each entry; `first`: the storage row of the slice's first row; `own`:
/// storage rows that need not be waited for. Every row has a place for each diagonal, and reads a row of its own where there is
/// no entry; there the place holds 0. Of symmetric diagonals -o and o, row i's entry on -o serves row i - o's on o, if both are
/// of the slice; else that has a place of its own. Throws unsupported if there are more than 2^32 places. Cost: one pass over
/// the entries.
RowRuns find_row_runs(const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own,
                      const Diagonals& diagonals);

}  // namespace sordino
