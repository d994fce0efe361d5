// Device code: one block adds up and sends the sums of the command before its own, while the others compute. So the time that
// takes is hidden as well, if the command needs none of these sums: collecting.hpp says for which commands, and when.
//
// Whom it waits for: the blocks of the command before, which have handed in, or run. For blocks of a command begin when all of
// the one before have ended, or have let them come, which each does behind the end of the command before that
// (begin_command()). So none of those still needs a place, and the block need not wait for their command's end.
//
// What it reads is nobody else's yet. Packets carry their epoch, so that those of the reduction before, of the same slot, are
// never taken for these. The next ones, of the same slot, overwrite them in the command that finishes it, or in one behind
// that. All these stand behind this block's command, and pass wait_for_previous_command() before they hand in. The parts that
// ranks send each other have two places in turn, as ever: a rank starts the reduction after next when it has seen all parts of
// the next one, and each rank sent its own when all of its blocks had handed in, behind the end of this one.
//
// A rank that is halted hands in nothing. Only the command before, or one before it, may have set `halt` while this block
// waits: its own command makes no test, and those behind it wait for its end. So whoever finds the rank halted need not ask
// where.
#pragma once
#include "sordino/runtime/cuda/command.cuh"

namespace sordino::cuda {

constexpr int packets_in_flight = 4;  // of a thread

/// Adds what all blocks handed in, in the order of collect() and block_sum(), so that the bits are the same whoever collects:
/// thread k < `values` gets the k-th sum. All threads of the block; all get false if the rank is halted or the wait was lost.
__device__ inline bool add_handed_in(const CollectArgs& c, u32 epoch, Shared& s, double& sum) {
  const i32 t = i32(threadIdx.x), rounds = (c.blocks + block_threads - 1) / block_threads, count = c.values * rounds;
  i32 value = 0, block = t;  // whose packet is added next
  double of_thread = 0;
  bool lost = false, halted = false;
#pragma unroll 1
  for (i32 first = 0; first < count; first += packets_in_flight) {
    i32 at[packets_in_flight];
    double v[packets_in_flight];
#pragma unroll
    for (int j = 0; j < packets_in_flight; j++) {
      i32 n = min(first + j, count - 1);
      at[j] = n / rounds * c.start.stride + min(n % rounds * block_threads + t, c.blocks - 1);
    }
    auto have_come = [&](u32&) {
      bool all = true;
#pragma unroll
      for (int j = 0; j < packets_in_flight; j++) {
        Packet p = load_packet(c.start.partials + at[j]);
        all &= is_epoch(u32(p.tag), epoch);
        v[j] = p.value;
      }
      halted = !all && load_relaxed(&c.control->halt);
      return all || halted;
    };
    if (!lost) lost = !spin(c, Wait::own_blocks, c.start.slot, block, flag_word(epoch, false), have_come) || halted;
#pragma unroll
    for (int j = 0; j < packets_in_flight; j++) {
      if (first + j >= count) break;
      if (block < c.blocks) of_thread += v[j];
      block += block_threads;
      if (block - t < c.blocks) continue;
      double of_warp = add_lanes(of_thread);
      if (t % 32 == 0) s.warp_sum[value][t / 32] = of_warp;
      value++, block = t, of_thread = 0;
    }
  }
  if (__syncthreads_or(lost)) return false;
  sum = t < c.values ? add_warps(s.warp_sum[t]) : 0;
  return true;
}

/// All threads of the block. What is read of Control, but for `halt`, is constant while a chunk of iterations runs.
__device__ inline void collect_for_previous_command(const CollectArgs& c, Shared& s) {
  let_next_command_come();  // in all other blocks behind the end of the command before
  const i32 iteration = iteration_of(c);
  if (iteration >= c.control->max_iterations || iteration == c.mute_at) return;
  const u32 epoch = epoch_of(c, c.start.epoch), stop = c.start.tells_stop ? c.control->stop : 0;
  Packet* place = threadIdx.x < 32 ? first_packet(c.start, c.values, epoch) : nullptr;
  double sum;
  if (!add_handed_in(c, epoch, s, sum) || threadIdx.x >= 32) return;
  send_sums(c, c.values, sum, epoch, flag_word(epoch, stop), place);
}

/// Whether commands of this kind can have a block more, which collects what the command before has handed on: if the functor
/// says `collects`. Each is a second kernel, so that all other launches keep a small one. Not where an exit test could halt the
/// rank while the sums are on their way; nor where rows return sums, for these would have other bits in a grid that leaves a
/// block its place.
template <class F, class T, SumOrder order>
constexpr bool may_collect() {
  if constexpr (requires { F::collects; })
    return F::collects && sums_of<F> == 0 && std::is_same_v<T, NoTest> && order == SumOrder::grid;
  else
    return false;
}

/// The last block of the grid collects. It has no rows, and of its own command nobody waits for it but the end.
template <class F>
__global__ void __launch_bounds__(block_threads, resident_blocks<F>()) collecting_command(const __grid_constant__ F functor,
                                                                                          const __grid_constant__ Args a,
                                                                                          const
                                                                                          __grid_constant__ CollectArgs c) {
  __shared__ Shared s;
  if (i32(blockIdx.x) == a.blocks)
    collect_for_previous_command(c, s);
  else
    run_command<SumOrder::grid>(functor, NoTest{}, a, s);
}

}  // namespace sordino::cuda
