// Row functor of a matrix stored by diagonals. It adds a row's entries in column order, as those of csr_rows.hpp do with one
// thread a row, so results have the same bits; where a diagonal has no entry, it adds 0.
#pragma once
#include <algorithm>

#include "sordino/linalg/csr_rows.hpp"
#include "sordino/linalg/diagonals.hpp"

namespace sordino {

/// 8 B an entry (symmetric ones once for two), no columns, no row pointers: 72 B a row of a 7-point product with x and y, 48 B
/// where A is symmetric, against 104 B of CSR. One thread a row; all loads of up to eight diagonals are in flight at once.
struct DiaRows {
  static constexpr int lanes = 1;
  static constexpr int words = 1;
  static constexpr bool turns = false;
  static constexpr int resident_blocks = 4;
  static constexpr const char* name = "SpMV";
  struct alignas(16) Diagonal {  // one load
    u32 at;                      // entry (i, this) is values[at + i]; of a unit diagonal, which has no values: `unit`
    i32 offset;                  // its column is storage row i + offset,
    i32 ghost;                   // or, where that is not one of the slice's own, i + ghost
  };
  static constexpr u32 unit = ~u32(0);
  const double* values;
  const Diagonal* diagonals;  // [count]; a field with them would lie in each thread's local memory
  i32 count;
  u32 own;     // storage rows below are columns as they are
  u32 last;    // storage row of x
  i32 first;   // storage row of the slice's row 0 (not 0 where vectors are replicated)
  bool twice;  // values are read for two rows
  i64 stored, nnz;
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  /// The storage row of x that an entry meets; where there is no entry, some row that has arrived.
  SORDINO_HD i32 column(i32 i, const Diagonal& d) const {
    u32 c = u32(i) + u32(d.offset);
    if (c >= own) c = u32(i) + u32(d.ghost);
    return i32(c < last ? c : last);
  }
  SORDINO_HD double entry(u32 at) const { return twice ? values[at] : read_once(values + at); }
  template <class V>
  SORDINO_HD void each_entry(i32 i, int, int, V&& visit) const {
    constexpr int step = 8;
    const u32 row = u32(i - first);
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
        const Diagonal diagonal = diagonals[d + j];
        a[j] = diagonal.at == unit ? 1.0 : entry(diagonal.at + row);
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
  /// Rows whose columns are all their own go diagonal by diagonal, several rows an instruction, in the same order of sums.
  void products(const Ghost& of, Out& into, i32 begin, i32 end) const {
    i32 low = std::clamp(-diagonals[0].offset, begin, end);
    i32 high = i32(std::clamp<i64>(i64(own) - diagonals[count - 1].offset, low, end));
    for (i32 i = begin; i < low; i++) into[i] = product(*this, of, i, 0, 1);
    for (i32 i = high; i < end; i++) into[i] = product(*this, of, i, 0, 1);
    double* __restrict result = into.p;
    for (i32 i = low; i < high; i++) result[i] = 0;
    for (i32 d = 0; d < count; d++) {
      const double* operand = of.p + diagonals[d].offset;
      if (diagonals[d].at == unit) {
        for (i32 i = low; i < high; i++) result[i] += operand[i];
        continue;
      }
      const double* value = values + diagonals[d].at - first;
      for (i32 i = low; i < high; i++) result[i] += value[i] * operand[i];
    }
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return {8.0 * double(stored), 2.0 * double(nnz)}; }
};

}  // namespace sordino
