// Row functor of a matrix stored by diagonals whose rows are in another order, as those of boxes are. It adds a row's entries
// in the order of diagonals: so a row of a product has the bits that it has in the order of the grid, whichever way boxes are
// cut.
#pragma once
#include "sordino/linalg/constant_rows.hpp"
#include "sordino/linalg/row_runs.hpp"

namespace sordino {

/// As DiaRowsOf, but for the columns, which are those of a row's run: a word of 8 B for 32 rows says which one it is. A warp's
/// threads are of one run or two, and read the same words of it.
template <class Entries>
struct BoxRowsOf {
  static constexpr int lanes = 1;
  static constexpr int words = 1;
  static constexpr bool turns = false;
  static constexpr int resident_blocks = 4;
  static constexpr const char* name = "SpMV";
  Entries entries;
  RunsView runs;
  i32 first;  // storage row of the slice's row 0 (not 0 where vectors are replicated)
  i64 nnz;
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  template <class V>
  SORDINO_HD void each_entry(i32 i, int, int, V&& visit) const {
    constexpr int step = 8;
    const u32 row = u32(i - first), place = entries.place(row, runs.count);
    const RunDiagonal* diagonals = runs.of(row);
    for (int d = 0; d < runs.count; d += step) {
      double a[step];
      i32 at[step];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < step; j++) {
        a[j] = 0;
        at[j] = 0;
        if (d + j >= runs.count) continue;
        const RunDiagonal diagonal = diagonals[d + j];
        a[j] = diagonal.is_unit() ? 1.0 : entries.load(diagonal.at + place);
        at[j] = i + diagonal.offset;
      }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < step; j++)
        if (d + j < runs.count) visit(a[j], at[j]);
    }
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
  /// Rows of a run are computed together.
  void products(const Ghost& of, Out& into, i32 begin, i32 end) const {
    for (i32 i = begin, next; i < end; i = next) {
      const u32 row = u32(i - first);
      next = first + i32(runs.end_of(row, u32(end - first)));
      entries.products(runs.of(row), runs.count, row, of.p + i, into.p + i, next - i);
    }
  }
  SORDINO_HD void store(i32 i, double value) const { write_once(y[i], value); }
  template <class V>
  void last_uses(V&& visit) const {
    visit(y);
  }
  Cost cost() const { return {entries.bytes() + double(runs.bytes), 2.0 * double(nnz)}; }
};

using BoxRows = BoxRowsOf<OwnEntries>;
using ConstantBoxRows = BoxRowsOf<SharedEntries>;

}  // namespace sordino
