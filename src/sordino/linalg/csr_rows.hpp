// Row functors of sparse matrices: one for the host, two layouts for GPUs, each of real and of complex entries. All of them add
// a row's entries in column order where one lane computes it, so host results do not depend on the partition.
#pragma once
#include "sordino/base/complex.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/caching.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// What all of them declare: 8 B a value (16 of a complex one), 4 B a column, 4 B a row pointer. Padding and layout are the
/// format's own affair, so ledgers are the same on every engine.
inline Cost csr_cost(i64 rows, i64 nnz, int words = 1) {
  return {(8.0 * words + 4.0) * double(nnz) + 4.0 * double(rows), 2.0 * words * words * double(nnz)};
}

/// Real entries: word i of y is row i.
struct RealEntries {
  static constexpr int words = 1;
  using Value = double;

  SORDINO_HD static Value load(const double* values, u32 k) { return values[k]; }
  SORDINO_HD static Value load_once(const double* values, u32 k) { return read_once(values + k); }
  template <class V>
  SORDINO_HD static void each_product(i32, Value a, i32 column, V&& visit) {
    visit(a, column);
  }
};

/// Complex entries: words 2 i and 2 i + 1 of y are the parts of row i, computed by two threads that load the same entry at the
/// same time, or by one after the other while it is in the first cache: it comes from memory once. So y, x, dot products and
/// halos are those of a real matrix of twice as many rows.
struct ComplexEntries {
  static constexpr int words = 2;
  using Value = Complex<double>;

  SORDINO_HD static Value load(const double* values, u32 k) {
    std::size_t at = 2 * std::size_t(k);  // a caller's array is aligned as doubles are
    return {values[at], values[at + 1]};
  }
  SORDINO_HD static Value load_once(const double* values, u32 k) {
#ifdef __CUDA_ARCH__
    return read_once(reinterpret_cast<const Value*>(values) + k);
#else
    return load(values, k);
#endif
  }
  template <class V>
  SORDINO_HD static void each_product(i32 word, Value a, i32 column, V&& visit) {
    bool imaginary = word & 1;
    visit(imaginary ? a.im : a.re, 2 * column);
    visit(imaginary ? a.re : -a.im, 2 * column + 1);
  }
};

/// What a lane adds to word i of A x.
template <class Rows>
SORDINO_HD double product(const Rows& rows, const Ghost& x, i32 i, int lane, int lane_count) {
  double s = 0;
  rows.each_entry(i, lane, lane_count, [&](double a, i32 word) { s += a * x[word]; });
  return s;
}

/// Rows of a CSR slice on the host. `values` is one indirection away, so that update_values() may bring a new array.
template <class Entries>
struct HostCsrRowsOf {
  static constexpr int lanes = 1;
  static constexpr int words = Entries::words;
  static constexpr bool turns = words == 2;
  static constexpr int resident_blocks = 1;  // has no kernel
  static constexpr const char* name = "SpMV";
  const u32* ptr;               // [rows + 1] from the slice's first entry
  const i32* col;               // [nnz] storage rows of x
  const double* const* values;  // -> [nnz][words]
  i32 first;                    // storage row of the slice's row 0 (not 0 where vectors are replicated)
  i32 rows;
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
    const double* v = *values;
    i32 row = i / words - first;
    for (u32 k = ptr[row], end = ptr[row + 1]; k < end; k++) Entries::each_product(i, Entries::load(v, k), col[k], visit);
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  /// A CPU is told nothing; what a described GPU would be told is the same for all layouts.
  template <class V>
  void last_uses(V&& visit) const {
    visit(y);
  }
  Cost cost() const { return csr_cost(rows, nnz, words); }
};

/// The same on a GPU: L threads a word of y, for long or uneven rows.
template <int L, class Entries = RealEntries>
struct CsrRows {
  static constexpr int lanes = L;
  static constexpr int words = Entries::words;
  static constexpr bool turns = words == 2;
  static constexpr int resident_blocks = 6;
  static constexpr const char* name = "SpMV";
  const u32* ptr;
  const i32* col;
  const double* values;
  i32 first, rows;
  i64 nnz;
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  template <class V>
  SORDINO_HD void each_entry(i32 i, int lane, int lane_count, V&& visit) const {
    i32 row = i / words - first;
    for (u32 k = ptr[row] + lane, end = ptr[row + 1]; k < end; k += lane_count)
      Entries::each_product(i, Entries::load(values, k), col[k], visit);
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
  SORDINO_HD void store(i32 i, double value) const { write_once(y[i], value); }
  template <class V>
  void last_uses(V&& visit) const {
    visit(y);
  }
  Cost cost() const { return csr_cost(rows, nnz, words); }
};

/// Sliced ELLPACK (SELL-32): slices of 32 rows stored column by column, padded to the slice's longest row. One thread a word of
/// y reads values and columns coalesced, and bytes equal CSR's where rows are of even length.
template <class Entries>
struct SellRowsOf {
  static constexpr int lanes = 1;
  static constexpr int words = Entries::words;
  static constexpr bool turns = words == 2;
  static constexpr int resident_blocks = 4;  // eight words of values in flight take 60 registers
  static constexpr i32 height = 32;
  static constexpr const char* name = "SpMV";
  const u32* slice;  // [slices + 1] first entry of each slice
  const i32* col;
  const double* values;
  i32 first, rows;
  i64 nnz;
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  // Some entries a step, the last step guarded instead of looped: all loads of a short row are in flight at once.
  template <class V>
  SORDINO_HD void each_entry(i32 i, int, int, V&& visit) const {
    constexpr u32 step = 8 / words;
    i32 row = i / words - first;
    u32 k = slice[row / height] + u32(row % height);
    const u32 end = slice[row / height + 1];
    for (; k < end; k += step * height) {
      typename Entries::Value a[step];
      i32 column[step];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (u32 j = 0; j < step; j++)
        if (k + j * height < end) {
          a[j] = Entries::load_once(values, k + j * height);
          column[j] = read_once(col + k + j * height);
        }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (u32 j = 0; j < step; j++)
        if (k + j * height < end) Entries::each_product(i, a[j], column[j], visit);
    }
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
  SORDINO_HD void store(i32 i, double value) const { write_once(y[i], value); }
  template <class V>
  void last_uses(V&& visit) const {
    visit(y);
  }
  Cost cost() const { return csr_cost(rows, nnz, words); }
};

using HostCsrRows = HostCsrRowsOf<RealEntries>;
using SellRows = SellRowsOf<RealEntries>;

/// Two products with one pass over the matrix: y[0] = A x[0], y[1] = A x[1]. Rows is a layout above.
template <class Rows>
struct RowPair {
  static constexpr int lanes = Rows::lanes;
  static constexpr int resident_blocks = 3;
  static constexpr bool collects = true;  // what the command before it has started (runtime/cuda/collect.cuh)
  static constexpr const char* name = "SpMV pair";
  Rows rows;  // its own x and y stay unset
  Ghost x0, x1;
  Out y0, y1;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x0);
    visit(x1);
    visit(y0);
    visit(y1);
  }
  SORDINO_HD Sums<2> part(i32 i, int lane, int lane_count) const {
    Sums<2> s{};
    rows.each_entry(i, lane, lane_count, [&](double a, i32 word) {
      s.v[0] += a * x0[word];
      s.v[1] += a * x1[word];
    });
    return s;
  }
  SORDINO_HD void finish(i32 i, const Sums<2>& y) {
    write_once(y0[i], y.v[0]);
    write_once(y1[i], y.v[1]);
  }
  template <class V>
  void last_uses(V&& visit) const {
    visit(y0);
    visit(y1);
  }
  SORDINO_HD void row(i32 i) { finish(i, part(i, 0, 1)); }
  /// Where rows are computed together on a CPU, the second product finds the block's entries in a cache.
  void block(i32 begin, i32 end)
    requires requires { rows.products(x0, y0, begin, end); }
  {
    rows.products(x0, y0, begin, end);
    rows.products(x1, y1, begin, end);
  }
  void done(i32) {}
  Cost cost() const {
    Cost c = rows.cost();
    return {c.bytes, 2 * c.flops};
  }
};

/// With complex products of the result (Turn).
template <class RowFunctor>
using TurnedKernels = KernelList<Kernel<Applied<RowFunctor, 2, TurnedPair>>, Kernel<Applied<RowFunctor, 3, TurnedPair>>>;

template <class RowFunctor>
using AppliedKernels = KernelList<Kernel<Applied<RowFunctor, 0>>, Kernel<Applied<RowFunctor, 1>>,
                                  Kernel<Applied<RowFunctor, 2>>, Kernel<Applied<RowFunctor, 3>>>;

}  // namespace sordino
