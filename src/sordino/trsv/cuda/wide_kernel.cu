#include "sordino/trsv/cuda/wide_kernel.hpp"

#include <algorithm>

#include "sordino/trsv/cuda/told.cuh"
#include "sordino/trsv/cuda/wide_forward.cuh"
#include "sordino/trsv/cuda/work.cuh"

namespace sordino::trsv {
namespace {

template <int P>
__device__ bool work(const WideWorker<P>& w) {
  return work<WideAhead, Meeting::task_done>(
      w, [&](int slot, WideAhead& ahead, u32& slices) { return carry_forward(w, slot, ahead, slices); });
}

/// As the kernel for fewer columns: it does not matter in which order blocks begin, or whether all are there at once.
template <int P>
__global__ void __launch_bounds__(block_threads, 2) carry_out_wide(const __grid_constant__ cuda::DeviceTeam team,
                                                                   const __grid_constant__ SolveTables<double> s,
                                                                   const __grid_constant__ SolvePass<double> pass) {
  extern __shared__ __align__(128) char memory[];
  __shared__ Desk desk;
  __shared__ WideRing ring;
  if constexpr (has_tensor_cores<double, columns_of_tile>) {
    const WideWorker<P> w{{team, s, pass, desk, memory}, ring};
    if (w.thread() == 0) desk.open(), ring.begin();
    if (!wait_for_last_pass(team, s, pass.epoch)) return;
    if (w.thread() < worker_threads ? work(w) : WideCourier<P>{{w}, w}.serve()) end_pass(team, s, pass.epoch);
  }
}

/// A number a thread: column k of the blocks, and of b's columns the r-th, or zero where there are no more.
template <int P>
__global__ void put_in_wide_order(const double* b, i64 stride, int columns, const i32* order, i64 n, double* to) {
  const i64 k = (i64(blockIdx.x) * blockDim.x + threadIdx.x) / P;
  const int r = int(threadIdx.x) % P;
  if (k < n) to[k * P + wide_place(r, i32(k))] = r < columns ? told(b[i64(order[k]) * stride + r]) : 0;
}

}  // namespace

SolveKernel<double> wide_kernel(int columns) { return columns == 16 ? carry_out_wide<16> : carry_out_wide<32>; }
i64 wide_shared(const SolveShape& shape, int columns) {
  const i64 of_subtrees = (i64(shape.operands) + shape.products) * columns_of_tile;
  return shape.buffer_bytes + std::max(of_subtrees, i64(shape.columns) * columns) * i64(sizeof(double));
}
WideGatherKernel wide_gather_kernel(int columns) { return columns == 16 ? put_in_wide_order<16> : put_in_wide_order<32>; }

}  // namespace sordino::trsv
