// Device code: the threads of a block that compute a row together (runtime/one_thread.hpp).
#pragma once
#include "sordino/runtime/cuda/phases.cuh"

namespace sordino::cuda {

template <SumOrder order>
struct WholeBlock {
  static constexpr bool in_order = order == SumOrder::fixed;
  static constexpr int lanes = 32, warps = cuda::warps;
  static constexpr int most_sums = 16;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double (*slots)[most_sums];  // [warps], shared

  __device__ explicit WholeBlock(double (*s)[most_sums]) : slots(s) {}

  /// Added in a fixed order: lanes by halves, then warps one after the other.
  template <int M, class Store>
  __device__ void sum(double (&s)[M], i32 count, bool of_block, const Store& store) const {
    static_assert(M <= most_sums && 32 % M == 0);
    fold<M, 16>(s);
    const int nth = lane * M / 32;  // the sum that this lane's group has
    const bool tells = lane % (32 / M) == 0;
    if (!of_block) {
      if (tells && nth < count) store(nth, s[0]);
      return;
    }
    if (tells) slots[warp][nth] = s[0];
    __syncthreads();
    if (const i32 i = threadIdx.x; i < count) {
      double sum = 0;
#pragma unroll
      for (int w = 0; w < warps; w++) sum += slots[w][i];
      store(i, sum);
    }
    __syncthreads();  // before the slots are used again
  }
  /// In the one order of sums (sum_order.hpp): a lane has a running sum of its warp's tile, and the tiles are added to `sum`,
  /// which all threads have, one after the other. Warps without a tile have zeros.
  __device__ void add_in_order(double running, double& sum) const {
    double of_tile[1] = {running};
    fold<1, 16>(of_tile);
    if (lane == 0) slots[warp][0] = of_tile[0];
    __syncthreads();
#pragma unroll
    for (int w = 0; w < warps; w++) sum += slots[w][0];
    __syncthreads();  // before the slots are used again
  }
  /// A warp adds products of the rows of 4 vectors a with those of 4 vectors b: lane l has a row of vector l / 8 of each, and
  /// all lanes with the same l % 8 the same row. What instructions multiply are 8 x 4 by 4 x 8 numbers, so each vector counts
  /// twice, with its first four lanes and with the others; products of one half with the other mean nothing, and nobody reads
  /// them. Of 8 x 8 products lane l has c(l / 4, 2 (l % 4)) and the next.
  __device__ void multiply_halves(double (&c)[2], double a, double b) const {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
  }
  /// store(i, j, sum) for each product of 4 M vectors with 4 N: the halves of all warps, added in a fixed order. All threads of
  /// the block.
  template <int M, int N, class Store>
  __device__ void add_halves(const double (&c)[M][N][2], const Store& store) const {
    __shared__ double of_warp[warps][M * N * 16];
#pragma unroll
    for (int k = 0; k < M * N; k++) {
      const bool second = lane & 4;  // half
      double sum = second ? c[k / N][k % N][1] : c[k / N][k % N][0];
      sum += __shfl_xor_sync(~0u, sum, 4);
      if (!second) of_warp[warp][k * 16 + lane / 8 * 4 + lane % 4] = sum;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < M * N * 16; at += warps * lanes) {
      double sum = 0;
#pragma unroll
      for (int w = 0; w < warps; w++) sum += of_warp[w][at];
      store(at / 16 / N * 4 + at % 16 / 4, at / 16 % N * 4 + at % 4, sum);
    }
    __syncthreads();  // before the sums are used again
  }

 private:
  /// Lanes that lie H apart share their sums: each gets half of them, which both have added; of a single one, both get it.
  template <int count, int H, int M>
  __device__ void fold(double (&s)[M]) const {
    if constexpr (count > 1) {
      const bool upper = lane & H;
#pragma unroll
      for (int j = 0; j < count / 2; j++) {
        const double mine = upper ? s[j + count / 2] : s[j], other = upper ? s[j] : s[j + count / 2];
        s[j] = mine + __shfl_xor_sync(~0u, other, H);
      }
    } else {
      s[0] += __shfl_xor_sync(~0u, s[0], H);
    }
    if constexpr (H > 1) fold<(count > 1 ? count / 2 : 1), H / 2>(s);
  }
};

}  // namespace sordino::cuda
