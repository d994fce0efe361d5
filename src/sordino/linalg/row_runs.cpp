#include "sordino/linalg/row_runs.hpp"

#include <algorithm>

#include "sordino/linalg/entry_diagonals.hpp"

namespace sordino {
namespace {

class Finder {
 public:
  Finder(const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own, const Diagonals& diagonals)
      : A_(A),
        slice_(slice),
        columns_(columns),
        first_(first),
        own_(own),
        diagonals_(diagonals),
        on_diagonal_(diagonals_of_entries(A, slice, diagonals)) {
    diagonals.symmetric ? place_symmetric() : place_all();
    require_few_places(runs_.stored);
  }

  RowRuns find() {
    runs_.starts.resize(std::size_t(slice_.rows + 31) / 32);
    std::vector<RunDiagonal> here(count()), last(count());
    u32 runs = 0;
    for (i64 row = 0; row < slice_.rows; row++) {
      RunStarts& starts = runs_.starts[std::size_t(row / 32)];
      if (row % 32 == 0) starts.before = runs;
      look(row, last, here);
      if (row > 0 && here == last) continue;
      starts.begins |= u32(1) << (row % 32);
      runs_.diagonals.insert(runs_.diagonals.end(), here.begin(), here.end());
      runs++;
      last = here;
    }
    return std::move(runs_);
  }

 private:
  std::size_t count() const { return diagonals_.offsets.size(); }
  i64 entry(i64 row) const { return A_.begin(slice_.first_row + row) - slice_.first_entry; }
  bool is_upper(std::size_t d) const { return diagonals_.symmetric && diagonals_.offsets[d] > 0; }
  bool in_slice(i32 column) const { return column >= first_ && column - first_ < slice_.rows; }

  void place_all() {
    DiagonalPlaces places(diagonals_, slice_.rows);
    places_ = std::move(places.at);
    runs_.stored = places.stored;
  }

  /// Those of the upper triangle take up what the lower ones do not have.
  void place_symmetric() {
    std::vector<i64> rows(count(), slice_.rows);
    for (i64 k = 0; k < slice_.entries; k++)
      if (const std::size_t d = on_diagonal_[std::size_t(k)]; is_upper(d) && in_slice(columns_[k])) rows[d]--;
    for (std::size_t d = 0; d < count(); d++) {
      const bool kept = !diagonals_.unit || diagonals_.offsets[d] != 0;
      places_.push_back(kept ? runs_.stored : DiagonalPlaces::nowhere);
      if (kept) runs_.stored += (rows[d] + 31) / 32 * 32;  // a warp's loads begin where a line does
    }
  }

  /// A row without an entry does as the row before does: so a line that ends at the grid's boundary is of the next one's run.
  void look(i64 row, const std::vector<RunDiagonal>& last, std::vector<RunDiagonal>& here) {
    const i64 i = first_ + row;
    for (std::size_t d = 0; d < count(); d++) {
      const i64 column = i + last[d].offset;
      here[d] = {u32(is_upper(d) ? places_[d] - row : places_[d]), column >= 0 && column < own_ ? last[d].offset : 0};
    }
    for (i64 k = entry(row); k < entry(row + 1); k++) {
      const std::size_t d = on_diagonal_[std::size_t(k)];
      here[d].offset = i32(columns_[k] - i);
      if (is_upper(d) && in_slice(columns_[k])) here[d].at = u32(places_[count() - 1 - d] + columns_[k] - i);  // its mirror's
    }
    for (std::size_t d = 0; d < count(); d++)
      if (is_upper(d) && here[d].at == u32(places_[d] - row)) places_[d]++;
  }

  const CsrView& A_;
  const CsrSlice& slice_;
  const i32* columns_;
  const i64 first_, own_;
  const Diagonals& diagonals_;
  const std::vector<std::uint8_t> on_diagonal_;
  std::vector<i64> places_;  // where each diagonal begins; of an upper one, its next free place
  RowRuns runs_;
};

}  // namespace

std::vector<std::uint8_t> diagonals_of_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals) {
  std::vector<std::uint8_t> on(std::size_t(slice.entries));
  find_entry_diagonals(A, slice, diagonals, on.data());
  return on;
}

RowRuns find_row_runs(const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own,
                      const Diagonals& diagonals) {
  return Finder(A, slice, columns, first, own, diagonals).find();
}

}  // namespace sordino
