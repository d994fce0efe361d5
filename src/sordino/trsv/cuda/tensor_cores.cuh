// Device code: strips times eight columns of doubles, by tensor cores. They read each value of a strip once, and operands once
// for eight rows.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

template <class V, int K>
inline constexpr bool has_tensor_cores = false;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <>
inline constexpr bool has_tensor_cores<double, 8> = true;
#endif

inline constexpr int columns_of_tile = 8;  // of b that a tensor core multiplies at once

/// One warp: D += A B, 8 x 4 times 4 x 8. A lane has A[lane / 4][lane % 4], B[lane % 4][lane / 4], and of D's row lane / 4 the
/// columns 2 (lane % 4) and the next.
__device__ __forceinline__ void multiply_add(double (&d)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d[0]), "+d"(d[1])
      : "d"(a), "d"(b));
}

/// One warp: eight rows of a strip from `first` on, at `values`. Four sums of each number are on their way at once.
__device__ __forceinline__ void multiply_eight_rows(const double* values, const Strip& strip, int first, const double* operand,
                                                    double (&d)[2]) {
  const int lane = int(threadIdx.x) % 32, k = lane % 4, row = first + lane / 4;
  const bool is_row = row < strip.rows;
  const double *const a = values + row + k * strip.lead, *const b = operand + k * 8 + lane / 4;
  double sums[4][2] = {};
  int j = 0;
  for (; j + 16 <= strip.columns; j += 16)
#pragma unroll
    for (int c = 0; c < 4; c++) multiply_add(sums[c], is_row ? a[(j + 4 * c) * strip.lead] : 0, b[(j + 4 * c) * 8]);
  for (; j < strip.columns; j += 4) {
    const bool is_column = j + k < strip.columns;
    multiply_add(sums[0], is_row && is_column ? a[j * strip.lead] : 0, is_column ? b[j * 8] : 0);
  }
#pragma unroll
  for (int q = 0; q < 2; q++) d[q] = (sums[0][q] + sums[1][q]) + (sums[2][q] + sums[3][q]);
}

/// Workers: each warp has eight rows at a time.
template <int K>
__device__ void multiply_by_tensor_cores(const Worker<double, K>& w, const QueuedTask& t) {
  const Block& b = t.block;
  const int eights = (b.strip_rows + 7) / 8, strips = t.end - t.first;
  for (int at = w.warp(); at < eights * strips; at += worker_warps) {
    const int of_strip = at / eights, first = 8 * (at - of_strip * eights), row = first + w.lane() / 4;
    const double* values = reinterpret_cast<const double*>(w.memory);
    for (int k = 0; k < of_strip; k++) values += strip_of(b, t.first + k).size();
    const Strip strip = strip_of(b, t.first + of_strip);
    if (first >= strip.rows) continue;
    double d[2];
    multiply_eight_rows(values, strip, first, w.operands(), d);
    if (row >= strip.rows) continue;
    double* const product = w.products() + (i64(of_strip) * b.strip_rows + row) * K + 2 * (w.lane() % 4);
    product[0] = d[0], product[1] = d[1];
  }
}

// --- tiles -----------------------------------------------------------------------------------------------------------------
//
// Of a strip, rows are multiplied in pairs: a lane reads two rows of a column at once, of which one belongs to a tile of eight
// even rows and the other one to a tile of eight odd ones. So pairs of rows g / 2 + 4 (g % 2) and four columns lie in different
// banks. A rest of up to eight rows is a tile by itself.

/// Sixteen rows each, and a rest.
template <int Pairs, bool Single>
struct Tiles {
  static constexpr int count = 2 * Pairs + Single;
  /// Of the lane's group g = lane / 4, counted from the first row.
  static __device__ __forceinline__ int row(int tile, int g) {
    return tile < 2 * Pairs ? 16 * (tile / 2) + 2 * (g / 2 + 4 * (g % 2)) + tile % 2 : 16 * Pairs + g;
  }
};
inline constexpr int most_tiles = 4, most_rows_of_tiles = 8 * most_tiles;

/// One warp, of the tiles' rows of a strip and eight columns: d = values times operand, two columns of each row a lane. Four
/// sums of each number are on their way at once. Rows that there are not are anything.
template <class T, int P>
__device__ __forceinline__ void multiply_tiles(const double* values, const Strip& strip, const double* operand,
                                               double (&d)[T::count][2]) {
  constexpr int pairs = T::count / 2;
  constexpr bool single = T::count % 2 == 1;
  const int lane = int(threadIdx.x) % 32, k = lane % 4, g = lane / 4;
  const double* const a = values + k * strip.lead;
  double sums[T::count][4][2] = {};
  auto add = [&](int chain, int j, bool is_column) {
    const double* const at = is_column ? a + j * strip.lead : values;  // nothing lies behind the last column
    const double b = is_column ? operand[(j + k) * P] : 0;
#pragma unroll
    for (int n = 0; n < pairs; n++) {
      const double2 two = *reinterpret_cast<const double2*>(at + T::row(2 * n, g));
      multiply_add(sums[2 * n][chain], is_column ? two.x : 0, b);
      multiply_add(sums[2 * n + 1][chain], is_column ? two.y : 0, b);
    }
    if constexpr (single) multiply_add(sums[2 * pairs][chain], is_column ? at[T::row(2 * pairs, g)] : 0, b);
  };
  int j = 0;
#pragma unroll 1
  for (; j + 16 <= strip.columns; j += 16)
#pragma unroll
    for (int c = 0; c < 4; c++) add(c, j + 4 * c, true);
#pragma unroll 1
  for (; j < strip.columns; j += 4) add(0, j, j + k < strip.columns);
#pragma unroll
  for (int n = 0; n < T::count; n++)
#pragma unroll
    for (int q = 0; q < 2; q++) d[n][q] = (sums[n][0][q] + sums[n][1][q]) + (sums[n][2][q] + sums[n][3][q]);
}

/// take(the tiles that so many rows are), of `most` rows.
template <int most, class Take>
__device__ __forceinline__ void with_tiles(int rows, const Take& take) {
  if (most > 24 && rows > 24)
    take(Tiles<most / 16, false>{});
  else if (most > 16 && rows > 16)
    take(Tiles < 1, most % 32 == 0 > {});
  else if (rows > 8)
    take(Tiles<1, false>{});
  else
    take(Tiles<0, true>{});
}

}  // namespace sordino::trsv
