// Row functors of sparse matrices: one for the host, two layouts for GPUs. All of them add a row's entries in column order
// where one lane computes it, so host results do not depend on the partition.
#pragma once
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// What all of them declare: 8 B a value, 4 B a column, 4 B a row pointer. Padding and layout are the format's own affair, so
/// ledgers are the same on every engine.
inline Cost csr_cost(i64 rows, i64 nnz) { return {12.0 * double(nnz) + 4.0 * double(rows), 2.0 * double(nnz)}; }

/// A load of what nobody reads again soon: it leaves the caches to x.
template <class T>
SORDINO_HD T read_once(const T* p) {
#ifdef __CUDA_ARCH__
  return __ldcs(p);
#else
  return *p;
#endif
}

/// Rows of a CSR slice on the host. `values` is one indirection away, so that update_values() may bring a new array.
struct HostCsrRows {
  static constexpr int lanes = 1;
  static constexpr int resident_blocks = 1;  // has no kernel
  static constexpr const char* name = "SpMV";
  const u32* ptr;               // [rows + 1] from the slice's first entry
  const i32* col;               // [nnz] storage rows of x
  const double* const* values;  // -> [nnz]
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
  SORDINO_HD void each_entry(i32 i, V&& visit) const {
    const double* v = *values;
    for (u32 k = ptr[i - first], end = ptr[i - first + 1]; k < end; k++) visit(v[k], col[k]);
  }
  SORDINO_HD double sum(i32 i, int, int) const {
    double s = 0;
    each_entry(i, [&](double a, i32 column) { s += a * x[column]; });
    return s;
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return csr_cost(rows, nnz); }
};

/// The same on a GPU: L threads a row, for long or uneven rows.
template <int L>
struct CsrRows {
  static constexpr int lanes = L;
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
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const {
    double s = 0;
    for (u32 k = ptr[i - first] + lane, end = ptr[i - first + 1]; k < end; k += lane_count) s += values[k] * x[col[k]];
    return s;
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return csr_cost(rows, nnz); }
};

/// Sliced ELLPACK (SELL-32): slices of 32 rows stored column by column, padded to the slice's longest row. One thread a row
/// reads values and columns coalesced, and bytes equal CSR's where rows are of even length.
struct SellRows {
  static constexpr int lanes = 1;
  static constexpr int resident_blocks = 4;  // eight entries in flight take 60 registers
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
  // Eight entries a step, the last step guarded instead of looped: all loads of a short row are in flight at once.
  template <class V>
  SORDINO_HD void each_entry(i32 i, V&& visit) const {
    constexpr u32 step = 8;
    i32 row = i - first;
    u32 k = slice[row / height] + u32(row % height);
    const u32 end = slice[row / height + 1];
    for (; k < end; k += step * height) {
      double a[step];
      i32 column[step];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (u32 j = 0; j < step; j++)
        if (k + j * height < end) {
          a[j] = read_once(values + k + j * height);
          column[j] = read_once(col + k + j * height);
        }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (u32 j = 0; j < step; j++)
        if (k + j * height < end) visit(a[j], column[j]);
    }
  }
  SORDINO_HD double sum(i32 i, int, int) const {
    double s = 0;
    each_entry(i, [&](double a, i32 column) { s += a * x[column]; });
    return s;
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return csr_cost(rows, nnz); }
};

/// Two products with one pass over the matrix: y[0] = A x[0], y[1] = A x[1]. Rows is a single-lane layout above.
template <class Rows>
struct RowPair {
  static constexpr int resident_blocks = 3;
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
  SORDINO_HD void row(i32 i) {
    double s0 = 0, s1 = 0;
    rows.each_entry(i, [&](double a, i32 column) {
      s0 += a * x0[column];
      s1 += a * x1[column];
    });
    y0[i] = s0;
    y1[i] = s1;
  }
  Cost cost() const {
    Cost c = rows.cost();
    return {c.bytes, 2 * c.flops};
  }
};

template <class RowFunctor>
using AppliedKernels = KernelList<Kernel<Applied<RowFunctor, 0>>, Kernel<Applied<RowFunctor, 1>>,
                                  Kernel<Applied<RowFunctor, 2>>, Kernel<Applied<RowFunctor, 3>>>;

}  // namespace sordino
