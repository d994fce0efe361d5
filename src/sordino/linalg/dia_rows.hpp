// Row functor of a matrix stored by diagonals. It adds a row's entries in column order, as those of csr_rows.hpp do with one
// thread a row, so results have the same bits; where a diagonal has no entry, it adds 0.
#pragma once
#include <algorithm>
#include <array>

#include "sordino/linalg/csr_rows.hpp"
#include "sordino/linalg/diagonal_products.hpp"
#include "sordino/linalg/diagonals.hpp"

namespace sordino {

struct alignas(16) StoredDiagonal {  // one load
  u32 at;                            // where its entries begin; of a unit diagonal, which has none: `unit`
  i32 offset;                        // its column is storage row i + offset,
  i32 ghost;                         // or, where that is not one of the slice's own, i + ghost

  static constexpr u32 unit = ~u32(0);
  SORDINO_HD bool is_unit() const { return at == unit; }
};

/// An entry for each row of a diagonal, 8 B: entry (row, d) is values[d.at + row].
struct OwnEntries {
  const double* values;
  bool twice;  // each is read for two rows
  static constexpr bool of_kinds = false;
  i64 stored;

  SORDINO_HD u32 place(u32 row, i32) const { return row; }
  SORDINO_HD double load(u32 at) const { return twice ? values[at] : read_once(values + at); }

  /// Of a row of a symmetric matrix.
  struct Row {
    const double* values;
    SORDINO_HD double of_pair(u32 at) const { return values[at]; }
    SORDINO_HD double alone(u32 at) const { return read_once(values + at); }  // the one that is not another row's, too
  };
  SORDINO_HD Row of_row(u32 row, i32) const { return {values + row}; }
  /// y[i] = A x of rows whose columns are x[i + offset], the slice's from `row` on, in the order of sums of a row.
  template <class Diagonal>
  void products(const Diagonal* diagonals, i32 count, u32 row, const double* x, double* y, i32 rows) const {
    std::array<DiagonalPart, most_diagonals> parts;
    for (i32 d = 0; d < count; d++) {
      const Diagonal& of = diagonals[d];
      parts[std::size_t(d)] = {of.is_unit() ? nullptr : values + u32(of.at + row), x + of.offset};
    }
    add_diagonals(parts.data(), count, y, rows);
  }
  double bytes() const { return 8.0 * double(stored); }
};

/// The same of a matrix whose entries are each read for one row, which is known when this is compiled.
struct OnceEntries : OwnEntries {
  SORDINO_HD double load(u32 at) const { return read_once(values + at); }

  struct Row {
    const double* values;
    SORDINO_HD double of_pair(u32 at) const { return read_once(values + at); }
    SORDINO_HD double alone(u32 at) const { return read_once(values + at); }
  };
  SORDINO_HD Row of_row(u32 row, i32) const { return {values + row}; }
};

/// No columns, no row pointers: 72 B a row of a 7-point product with x and y, 48 B where A is symmetric, against 104 B of CSR.
/// One thread a row; all loads of up to eight diagonals are in flight at once. `Entries`: OwnEntries, or those of
/// constant_rows.hpp.
template <class Entries>
struct DiaRowsOf {
  static constexpr int lanes = 1;
  static constexpr int words = 1;
  static constexpr bool turns = false;
  static constexpr int resident_blocks = 4;
  static constexpr bool warps_meet = true;  // on a GPU (runtime/cuda/command.cuh)
  static constexpr const char* name = "SpMV";
  Entries entries;
  const StoredDiagonal* diagonals;  // [count]; a field with them would lie in each thread's local memory
  i32 count;
  u32 own;    // storage rows below are columns as they are
  u32 last;   // storage row of x
  i32 first;  // storage row of the slice's row 0 (not 0 where vectors are replicated)
  i64 nnz;
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  /// The storage row of x that an entry meets; where there is no entry, some row that has arrived.
  SORDINO_HD i32 column(i32 i, const StoredDiagonal& d) const {
    u32 c = u32(i) + u32(d.offset);
    if (c >= own) c = u32(i) + u32(d.ghost);
    return i32(c < last ? c : last);
  }
  template <class V>
  SORDINO_HD void each_entry(i32 i, int, int, V&& visit) const {
    constexpr int step = 8;
    const u32 place = entries.place(u32(i - first), count);
    for (int d = 0; d < count; d += step) {
      double a[step];
      i32 at[step];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < step; j++) {
        a[j] = 0;
        at[j] = 0;
        if (d + j >= count) continue;
        const StoredDiagonal diagonal = diagonals[d + j];
        a[j] = diagonal.at == StoredDiagonal::unit ? 1.0 : entries.load(diagonal.at + place);
        at[j] = column(i, diagonal);
      }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < step; j++)
        if (d + j < count) visit(a[j], at[j]);
    }
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
  /// Rows whose columns are all their own are computed together.
  void products(const Ghost& of, Out& into, i32 begin, i32 end) const {
    i32 low = std::clamp(-diagonals[0].offset, begin, end);
    i32 high = i32(std::clamp<i64>(i64(own) - diagonals[count - 1].offset, low, end));
    products_in_pieces(of, into, begin, low);
    entries.products(diagonals, count, u32(low - first), of.p + low, into.p + low, high - low);
    products_in_pieces(of, into, high, end);
  }
  SORDINO_HD void store(i32 i, double value) const { write_once(y[i], value); }
  template <class V>
  void last_uses(V&& visit) const {
    visit(y);
  }
  Cost cost() const { return {entries.bytes(), 2.0 * double(nnz)}; }

 private:
  /// The same of rows with ghosts among their columns, from row to row on which a diagonal comes to them or leaves them.
  void products_in_pieces(const Ghost& of, Out& into, i32 begin, i32 end) const {
    std::array<StoredDiagonal, most_diagonals> here;
    for (i32 i = begin, next; i < end; i = next) {
      next = end;
      for (i32 d = 0; d < count; d++) {
        const StoredDiagonal& diagonal = diagonals[d];
        here[std::size_t(d)] = {diagonal.at, column(i, diagonal) - i, 0};
        next = i32(std::min<i64>(next, end_of_piece(i, diagonal)));
      }
      entries.products(here.data(), count, u32(i - first), of.p + i, into.p + i, next - i);
    }
  }
  /// The row before which the columns of a diagonal lie side by side from row i on.
  i64 end_of_piece(i32 i, const StoredDiagonal& d) const {
    if (u32(i) + u32(d.offset) < own) return i64(own) - d.offset;
    const u32 ghost = u32(i) + u32(d.ghost);
    const i64 end = ghost < last ? i + i64(last - ghost) : i64(i) + 1;
    return d.offset < 0 ? std::min<i64>(end, -i64(d.offset)) : end;
  }
};

using DiaRows = DiaRowsOf<OwnEntries>;

}  // namespace sordino
