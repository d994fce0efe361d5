// Row functors of sparse matrices whose entries are stored as floats or halves, and whose vectors hold two floats in a word: a
// row of the functor is a word of y, two rows of the matrix. They compute in single precision.
//
// Row i of A x is s_i x_i and what a_ij (x_j - x_i) adds up to, and in the place of a_ii its row's sum s_i is stored. As
// products with a_ii these lose what large entries leave when they cancel, of heavy cells beside light ones all of it. So each
// stored number is off by its own rounding alone, and whatever the contrast, A with them is A to that rounding in the sense of
// x^T A x where no entry beside the diagonal is positive.
#pragma once
#include <algorithm>

#include "sordino/base/singles.hpp"
#include "sordino/linalg/dia_rows.hpp"

namespace sordino {

using GhostSingles = Field<const Singles, Access::ghost>;
using OutSingles = Field<Singles, Access::write>;

/// The rows of a vector of words.
SORDINO_HD inline const float* rows_in(const Singles* words) { return reinterpret_cast<const float*>(words); }
SORDINO_HD inline float* rows_in(Singles* words) { return reinterpret_cast<float*>(words); }

/// A sum of products with stored entries.
template <class Entry>
SORDINO_HD float scaled(double scale, float sum) {
  if constexpr (std::is_same_v<Entry, Half>) return float(scale) * sum;
  return sum;
}

/// By diagonals, as DiaRowsOf: 4 or 2 B a row of each, or, where A is symmetric, of each pair of them. `Entry`: float or Half.
template <class Entry>
struct SingleDiaRows {
  static constexpr const char* name = "SpMV";
  static constexpr int resident_blocks = 4;
  static constexpr bool warps_meet = true;  // on a GPU (runtime/cuda/command.cuh)
  const Entry* values;
  const StoredDiagonal* diagonals;  // [count]
  i32 count;
  i32 rows;
  u32 last;  // row of x's storage
  i64 nnz, stored;
  Get scale;  // of all entries, where they are halves
  GhostSingles x;
  OutSingles y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(scale);
    visit(x);
    visit(y);
  }
  /// Both rows go along the diagonals together, so that twice as many loads are under way.
  SORDINO_HD void row(i32 word) {
    const bool both = 2 * word + 1 < rows;
    const i32 i[2] = {2 * word, 2 * word + both};
    const Singles own = x[word];
    Singles sum;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
    for (i32 d = 0; d < count; d++) {
      const StoredDiagonal diagonal = diagonals[d];
      for (int k = 0; k < 2; k++) sum.at[k] += product(diagonal, i[k], own.at[k]);
    }
    y[word] = {{scaled<Entry>(scale, sum.at[0]), both ? scaled<Entry>(scale, sum.at[1]) : 0}};
  }
  /// On a CPU, rows whose columns are all their own go diagonal by diagonal, several an instruction.
  void block(i32 begin, i32 end) {
    float* into = rows_in(y.p);
    const i32 first = 2 * begin, behind = std::min(2 * end, rows);
    const i32 low = std::clamp(-diagonals[0].offset, first, behind);
    const i32 high = std::clamp(rows - std::max(diagonals[count - 1].offset, 0), low, behind);
    for (i32 i = first; i < low; i++) into[i] = scaled<Entry>(scale, sum(i));
    for (i32 i = high; i < behind; i++) into[i] = scaled<Entry>(scale, sum(i));
    inner(low, rows_in(x.p) + low, into + low, high - low);
    if (behind < 2 * end) into[behind] = 0;
  }
  void done(i32) {}
  Cost cost() const { return {double(sizeof(Entry)) * double(stored), 3.0 * double(nnz)}; }

 private:
  SORDINO_HD float product(const StoredDiagonal& diagonal, i32 i, float own) const {
    u32 column = u32(i) + u32(diagonal.offset);
    if (column >= u32(rows)) column = u32(i) + u32(diagonal.ghost);
    const float beside = rows_in(x.p)[column < last ? column : last];
    return widened(values[diagonal.at + u32(i)]) * (diagonal.offset == 0 ? own : beside - own);
  }
  float sum(i32 i) const {
    float s = 0;
    for (i32 d = 0; d < count; d++) s += product(diagonals[d], i, rows_in(x.p)[i]);
    return s;
  }
  /// A diagonal, from some row on.
  struct Inner {
    const Entry* values;
    const float* beside;
    float less;  // how often the row's own x is taken off

    Inner(const SingleDiaRows& of, i32 d, i32 from, const float* operand)
        : values(of.values + u32(of.diagonals[d].at + u32(from))),
          beside(operand + of.diagonals[d].offset),
          less(of.diagonals[d].offset == 0 ? 0 : 1) {}
    float product(i32 i, float own) const { return widened(values[i]) * (beside[i] - less * own); }
  };
  void inner(i32 from, const float* operand, float* __restrict into, i32 many) const {
    for (i32 i = 0; i < many; i++) into[i] = 0;
    i32 d = 0;
    for (; d + 1 < count; d += 2) {  // two at once: results and the rows' own x are read half as often
      const Inner a(*this, d, from, operand), b(*this, d + 1, from, operand);
      for (i32 i = 0; i < many; i++) into[i] = into[i] + a.product(i, operand[i]) + b.product(i, operand[i]);
    }
    if (d < count) {
      const Inner a(*this, d, from, operand);
      for (i32 i = 0; i < many; i++) into[i] += a.product(i, operand[i]);
    }
    if constexpr (std::is_same_v<Entry, Half>) {
      const float factor = float(scale);
      for (i32 i = 0; i < many; i++) into[i] *= factor;
    }
  }
};

/// By rows, on every engine: 4 or 2 B an entry, 4 B a column and 4 B a row.
template <class Entry>
struct SingleCsrRows {
  static constexpr const char* name = "SpMV";
  static constexpr int resident_blocks = 4;
  const u32* ptr;      // [rows + 1]
  const i32* columns;  // rows of x's storage
  const Entry* values;
  i32 rows;
  i64 nnz;
  Get scale;
  GhostSingles x;
  OutSingles y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(scale);
    visit(x);
    visit(y);
  }
  SORDINO_HD void row(i32 word) {
    const float* operand = rows_in(x.p);
    y[word] = word_of<Singles>(word, rows, [&](i32 i) {
      const float own = operand[i];
      float s = 0;
      for (u32 k = ptr[i], end = ptr[i + 1]; k < end; k++)
        s += widened(values[k]) * (columns[k] == i ? own : operand[columns[k]] - own);
      return scaled<Entry>(scale, s);
    });
  }
  Cost cost() const { return {double(sizeof(Entry) + 4) * double(nnz) + 4.0 * rows, 3.0 * double(nnz)}; }
};

using SingleKernels = KernelList<Kernel<SingleDiaRows<float>>, Kernel<SingleDiaRows<Half>>, Kernel<SingleCsrRows<float>>,
                                 Kernel<SingleCsrRows<Half>>>;

}  // namespace sordino
