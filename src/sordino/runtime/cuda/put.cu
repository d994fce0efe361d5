#include "sordino/runtime/cuda/put.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

// Half of an H200's multiprocessors fill a link with their stores, and leave the others to others. Of the shapes tried (32 to
// 264 blocks, 512 or 1,024 threads, 1 to 8 loads in flight, bulk copies out of shared memory) this one is the fastest at 16 and
// 64 MiB, and within 8 % of the fastest at 1, 4 and 256 MiB.
constexpr int put_threads = 1024, most_put_blocks = 66, loads_in_flight = 8;

__global__ void __launch_bounds__(put_threads) put_rows(const __grid_constant__ DeviceTeam t,
                                                        const __grid_constant__ TeamSignals s, i32 to, double* there,
                                                        const double* from, i64 n, bool overlaps) {
  if (!overlaps) wait_for_previous_command();
  let_next_command_come();  // what lies before this one has ended: also for a put that overlaps with it
  put<Scope::grid, loads_in_flight>(there, from, n);
  __syncthreads();
  if (threadIdx.x != 0) return;
  wait_for_previous_command();  // flags are raised in turn
  u32* sent = t.mine(s.sent) + to;
  u32 epoch = load_relaxed(sent) + 1;
  if (!is_last_block(t.mine(s.ticket) + to, gridDim.x)) return;
  signal_fenced(t, s, to, epoch);
  store_relaxed(sent, epoch);  // all blocks have read it
}

__global__ void signal_next(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSignals s, i32 to) {
  signal(t, s, to, advance(t.mine(s.sent) + to));
}

__global__ void wait_next(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSignals s, i32 from) {
  wait_signal(t, s, from, advance(t.mine(s.seen) + from));
}

}  // namespace

void load_puts(TeamRank& rank) {
  rank.load(put_rows);
  rank.load(signal_next);
  rank.load(wait_next);
}

void put(TeamRank& rank, const TeamSignals& signals, int to, double* there, const double* from, i64 n, By by, Behind behind) {
  i64 bytes = n * i64(sizeof(double));
  bool overlaps = behind == Behind::put;
  if (by == By::automatic) by = bytes < (overlaps ? engine_from_behind_put : engine_from) ? By::kernel : By::engine;
  if (by == By::engine) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(there, from, std::size_t(bytes), cudaMemcpyDeviceToDevice, rank.stream()));
    rank.launch({.threads = 1}, signal_next, rank.team(), signals, to);
    return;
  }
  i64 vectors_of_block = put_threads * 2;  // doubles: one vector a thread
  int blocks = int(std::clamp<i64>((n + vectors_of_block - 1) / vectors_of_block, 1, most_put_blocks));
  rank.launch({.blocks = blocks, .threads = put_threads, .chained = overlaps}, put_rows, rank.team(), signals, to, there, from,
              n, overlaps);
}

void await_put(TeamRank& rank, const TeamSignals& signals, int from) {
  rank.launch({.threads = 1}, wait_next, rank.team(), signals, from);
}

}  // namespace sordino::cuda
