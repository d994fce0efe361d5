#include "sordino/trsv/cuda/solve_kernel.hpp"

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/trsv/cuda/backward.cuh"
#include "sordino/trsv/cuda/forward.cuh"
#include "sordino/trsv/cuda/work.cuh"
#include "sordino/trsv/invented.hpp"

namespace sordino::trsv {
namespace {

template <class V, int K, Direction direction>
__device__ bool work(const Worker<V, K>& w) {
  if constexpr (direction == Direction::forward)
    return work<Ahead<V, K>>(w, [&](int slot, Ahead<V, K>& ahead, u32& uses) { return carry_forward(w, slot, ahead, uses); });
  else
    return work<AheadBack>(w, [&](int slot, AheadBack& ahead, u32& uses) { return carry_back(w, slot, ahead, uses); });
}

/// Blocks stay until the queue is empty. Whoever holds a ticket waits for smaller ones only, which are held, or done: so it
/// does not matter in which order blocks begin, or whether all are there at once.
template <class V, int K, Direction direction>
__global__ void __launch_bounds__(block_threads, sizeof(V) * K > 64   ? 1
                                                 : sizeof(V) * K > 16 ? 2
                                                                      : 4)
carry_out(const __grid_constant__ cuda::DeviceTeam team, const __grid_constant__ SolveTables<V> s,
          const __grid_constant__ SolvePass<V> pass) {
  extern __shared__ __align__(128) char memory[];
  __shared__ Desk desk;
  const Worker<V, K> w{team, s, pass, desk, memory};
  if (w.thread() == 0) desk.open();
  if (!wait_for_last_pass(team, s, pass.epoch)) return;
  if (w.thread() < worker_threads ? work<V, K, direction>(w) : Courier<V, K>{w}.serve()) end_pass(team, s, pass.epoch);
}

/// Columns of b in the order of the blocks, so that nobody looks up where they are.
template <class V, int K>
__global__ void put_in_order(const V* b, i64 stride, const i32* order, i64 n, V* to) {
  const i64 k = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= n) return;
  const i64 row = order[k];
#pragma unroll
  for (int r = 0; r < K; r++) to[k * K + r] = b[row * stride + r];
}

template <class V>
__global__ void invent_values(V* values, i64 first, i64 count) {
  const i64 step = i64(gridDim.x) * blockDim.x;
  for (i64 k = i64(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step) values[k] = invented<V>(first + k);
}

template <class V, Direction direction>
SolveKernel<V> kernel_of(int columns) {
  switch (columns) {
    case 1: return carry_out<V, 1, direction>;
    case 2: return carry_out<V, 2, direction>;
    case 4: return carry_out<V, 4, direction>;
    default: return carry_out<V, 8, direction>;
  }
}

}  // namespace

template <class V>
GatherKernel<V> gather_kernel(int columns) {
  switch (columns) {
    case 1: return put_in_order<V, 1>;
    case 2: return put_in_order<V, 2>;
    case 4: return put_in_order<V, 4>;
    default: return put_in_order<V, 8>;
  }
}

template <class V>
SolveKernel<V> solve_kernel(Direction direction, int columns) {
  return direction == Direction::forward ? kernel_of<V, Direction::forward>(columns)
                                         : kernel_of<V, Direction::backward>(columns);
}

int solve_threads() { return block_threads; }
i32 most_blocks_of_subtrees() { return most_small_blocks; }
i32 most_rows_of_strips() { return rows_of_thread * worker_threads; }
i32 most_columns_of_closing() { return worker_threads; }
i32 worker_numbers() { return worker_threads; }

template <class V>
void start_invented_values(V* values, i64 first, i64 count, cudaStream_t stream) {
  if (count == 0) return;
  invent_values<V><<<1024, 256, 0, stream>>>(values, first, count);
  cuda::call("cudaGetLastError", cudaGetLastError());
}

template GatherKernel<float> gather_kernel(int);
template GatherKernel<double> gather_kernel(int);
template GatherKernel<Number> gather_kernel(int);
template SolveKernel<float> solve_kernel(Direction, int);
template SolveKernel<double> solve_kernel(Direction, int);
template SolveKernel<Number> solve_kernel(Direction, int);
template void start_invented_values(float*, i64, i64, cudaStream_t);
template void start_invented_values(double*, i64, i64, cudaStream_t);
template void start_invented_values(Number*, i64, i64, cudaStream_t);

}  // namespace sordino::trsv
