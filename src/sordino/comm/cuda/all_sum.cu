#include "sordino/comm/cuda/all_sum.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int threads = 512;
constexpr int most_blocks = 264;

/// A piece is added once all ranks have said that their kernels that wrote x have ended.
__global__ void __launch_bounds__(threads) add_piece(const __grid_constant__ DeviceTeam t,
                                                     const __grid_constant__ TeamSignals ready,
                                                     const __grid_constant__ Symmetric<double> x,
                                                     const __grid_constant__ Symmetric<double> whole, i64 part) {
  u32* round = t.mine(ready.sent) + t.rank;
  u32 epoch = load_relaxed(round) + 1;
  if (blockIdx.x == 0 && i32(threadIdx.x) < t.ranks && i32(threadIdx.x) != t.rank) signal(t, ready, threadIdx.x, epoch);
  bool lost = threadIdx.x < 32 && !wait_signals(t, ready, (1u << t.ranks) - 1 - (1u << t.rank), epoch);
  if (__syncthreads_or(lost)) return;
  for (i64 i = blockIdx.x * i64(threads) + threadIdx.x; i < part; i += i64(gridDim.x) * threads) {
    double sum = 0;
    for (i32 r = 0; r < t.ranks; r++) sum += t.at(r, x)[t.rank * part + i];
    t.mine(whole)[t.rank * part + i] = sum;
  }
  if (threadIdx.x == 0 && is_last_block(t.mine(ready.ticket) + t.rank, gridDim.x)) store_relaxed(round, epoch);
}

}  // namespace

AllSum make_all_sum(Team& team) { return {team.signals("the vectors of a sum"), make_all_gather(team)}; }

void load_all_sum(TeamRank& rank) {
  rank.load(add_piece);
  load_all_gather(rank);
}

void add_pieces(TeamRank& rank, const AllSum& sum, const Symmetric<double>& x, const Symmetric<double>& whole, i64 part) {
  int blocks = int(std::clamp<i64>((part + threads - 1) / threads, 1, most_blocks));
  rank.launch({.blocks = blocks, .threads = threads}, add_piece, rank.team(), sum.ready, x, whole, part);
}

// All ranks have read x when their pieces have come.
void all_sum(TeamRank& rank, const AllSum& sum, const Symmetric<double>& x, const Symmetric<double>& whole, i64 part) {
  add_pieces(rank, sum, x, whole, part);
  all_gather(rank, sum.gather, whole, part);
}

}  // namespace sordino::cuda
