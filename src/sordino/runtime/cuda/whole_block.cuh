// Device code: the threads of a block that compute a row together (runtime/one_thread.hpp).
#pragma once
#include "sordino/runtime/cuda/phases.cuh"

namespace sordino::cuda {

struct WholeBlock {
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
