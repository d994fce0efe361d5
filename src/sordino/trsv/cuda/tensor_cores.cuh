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

}  // namespace sordino::trsv
