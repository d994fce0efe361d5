// Device code: strips times eight columns of doubles, by tensor cores. They read each value of a strip once, and operands once
// for sixteen rows.
#pragma once
#include "sordino/trsv/cuda/tensor_tiles.hpp"
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

/// One warp: D += A B, 16 x 4 times 4 x 8, numbers as ProductLane says; those of the rows below are `below`. On Hopper one
/// instruction, which takes as long as one of half the rows, with the same bits.
__device__ __forceinline__ void multiply_add(double (&d)[2], double (&d_below)[2], double a, double below, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d_below[0]), "+d"(d_below[1])
      : "d"(a), "d"(below), "d"(b));
#else
  multiply_add(d, a, b);
  multiply_add(d_below, below, b);
#endif
}

/// One warp, of the tiles' rows of a strip and eight columns: d = values times operand, two columns of each row a lane. Four
/// sums of each number are on their way at once. Rows that there are not are anything.
template <class T, int P>
__device__ __forceinline__ void multiply_tiles(const double* values, const Strip& strip, const double* operand,
                                               double (&d)[T::count][2]) {
  const int lane = int(threadIdx.x) % 32, k = lane % 4, g = lane / 4;
  const double* const a = values + k * strip.lead;
  double sums[T::count][4][2] = {};
  auto add = [&](int chain, int j, bool is_column) {
    const double* const at = (is_column ? a + j * strip.lead : values) + T::row(0, g);  // nothing lies behind the last column
    const double b = is_column ? operand[(j + k) * P] : 0;
    if constexpr (T::count == 2) {
      const double2 two = *reinterpret_cast<const double2*>(at);
      multiply_add(sums[0][chain], sums[1][chain], is_column ? two.x : 0, is_column ? two.y : 0, b);
    } else {
      multiply_add(sums[0][chain], is_column ? *at : 0, b);
    }
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

/// Workers: each warp has sixteen rows of a strip at a time, or the rest.
template <int K>
__device__ void multiply_by_tensor_cores(const Worker<double, K>& w, const QueuedTask& t) {
  const Block& b = t.block;
  constexpr int most = most_rows_of_tiles;
  const int units = (b.strip_rows + most - 1) / most, strips = t.end - t.first, g = w.lane() / 4;
  for (int at = w.warp(); at < units * strips; at += worker_warps) {
    const int of_strip = at / units, first = most * (at - of_strip * units);
    const double* values = reinterpret_cast<const double*>(w.memory);
    for (int k = 0; k < of_strip; k++) values += strip_of(b, t.first + k).size();
    const Strip strip = strip_of(b, t.first + of_strip);
    if (first >= strip.rows) continue;
    with_tiles(strip.rows - first, [&](auto kind) {
      using T = decltype(kind);
      double d[T::count][2];
      multiply_tiles<T, K>(values + first, strip, w.operands() + g, d);
#pragma unroll
      for (int n = 0; n < T::count; n++)
        if (const int row = first + T::row(n, g); row < strip.rows) {
          double* const product = w.products() + (i64(of_strip) * b.strip_rows + row) * K + 2 * (w.lane() % 4);
          product[0] = d[n][0], product[1] = d[n][1];
        }
    });
  }
}

}  // namespace sordino::trsv
