#include "sordino/trsv/cuda/solve_kernel.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/trsv/cuda/backward.cuh"
#include "sordino/trsv/cuda/forward.cuh"
#include "sordino/trsv/invented.hpp"

namespace sordino::trsv {
namespace {

/// Blocks stay until the queue is empty. Whoever holds a ticket waits for smaller ones only, which are held, or done: so it does
/// not matter in which order blocks begin, or whether all are there at once.
template <class V, int K, Direction direction>
__global__ void __launch_bounds__(worker_threads, sizeof(V) * K <= 16 && direction == Direction::forward ? 3 : 2)
    carry_out(const __grid_constant__ cuda::DeviceTeam team, const __grid_constant__ SolveTables<V> s,
              const __grid_constant__ SolvePass<V> pass) {
  extern __shared__ __align__(16) char memory[];
  __shared__ Desk desk;
  Worker<V, K> w{team, s, pass, desk, reinterpret_cast<V*>(memory)};
  if (!wait_for_last_pass(team, s, pass.epoch)) return;
  if (w.thread() == 0) w.take_ticket();
  __syncthreads();
  if (w.warp() == 0) w.let_next_come();
  while (desk.next_ticket < u32(s.count)) {
    if (w.thread() == 0) desk.task = desk.next;
    __syncthreads();
    if (w.thread() == 0) w.take_ticket();
    if (w.warp() == 0) {
      __syncwarp();
      w.let_next_come();
    }
    const QueuedTask t = desk.task;
    const u64 taken = w.clock();
    if (!w.wait_for_needs(t)) return;
    const u64 began = w.clock();
    if constexpr (direction == Direction::forward) {
      if (t.kind == Task::Kind::strips)
        forward_strips(w, t);
      else
        forward_subtrees(w, t);
    } else {
      if (t.kind == Task::Kind::columns)
        backward_columns(w, t);
      else
        backward_subtrees(w, t);
    }
    w.tell(t);
    if (s.times && w.thread() == 0) s.times[t.id] = {taken, began, w.clock()};
  }
  end_pass(team, s, pass.epoch);
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
SolveKernel<V> solve_kernel(Direction direction, int columns) {
  return direction == Direction::forward ? kernel_of<V, Direction::forward>(columns)
                                         : kernel_of<V, Direction::backward>(columns);
}

int solve_threads() { return worker_threads; }
i32 most_blocks_of_subtrees() { return most_small_blocks; }

template <class V>
int solve_shared(i32 width, i32 small_width, int columns) {
  const i64 of_strips = i64(width) + worker_warps * strip_rows, of_small = i64(worker_warps) * small_width;
  return int(std::max(of_strips, of_small) * columns * i64(sizeof(V)));
}

template <class V>
void start_invented_values(V* values, i64 first, i64 count, cudaStream_t stream) {
  invent_values<V><<<1024, 256, 0, stream>>>(values, first, count);
  cuda::call("cudaGetLastError", cudaGetLastError());
}

template SolveKernel<float> solve_kernel(Direction, int);
template SolveKernel<double> solve_kernel(Direction, int);
template SolveKernel<Number> solve_kernel(Direction, int);
template int solve_shared<float>(i32, i32, int);
template int solve_shared<double>(i32, i32, int);
template int solve_shared<Number>(i32, i32, int);
template void start_invented_values(float*, i64, i64, cudaStream_t);
template void start_invented_values(double*, i64, i64, cudaStream_t);
template void start_invented_values(Number*, i64, i64, cudaStream_t);

}  // namespace sordino::trsv
