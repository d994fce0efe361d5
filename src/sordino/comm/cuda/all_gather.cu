#include "sordino/comm/cuda/all_gather.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int threads = 512;
constexpr int most_blocks = 264;

/// Blocks take turns with the peers, each rank beginning with its next, so that no link is asked by all at once. A part is
/// sent once its receiver has said that the kernels that used the old one have ended.
__global__ void __launch_bounds__(threads) gather_parts(const __grid_constant__ DeviceTeam t,
                                                        const __grid_constant__ AllGather g,
                                                        const __grid_constant__ Symmetric<double> whole, i64 part) {
  i32 peers = t.ranks - 1, blocks = gridDim.x / peers, nth = i32(blockIdx.x) / peers;
  i32 to = (t.rank + 1 + blockIdx.x % peers) % t.ranks;
  u32* round = t.mine(g.done.sent) + t.rank;
  u32 epoch = load_relaxed(round) + 1;
  if (blockIdx.x == 0 && i32(threadIdx.x) < t.ranks && i32(threadIdx.x) != t.rank) signal(t, g.ready, threadIdx.x, epoch);
  bool lost = threadIdx.x == 0 && !wait_signal(t, g.ready, to, epoch);
  if (__syncthreads_or(lost)) return;
  i64 share = (part / blocks + 2) & ~i64(1), first = min(nth * share, part);  // even: vectors of 16 bytes
  i64 at = t.rank * part + first;
  put<Scope::block>(t.at(to, whole) + at, t.mine(whole) + at, min(share, part - first));
  __syncthreads();
  if (threadIdx.x == 0 && is_last_block(t.mine(g.done.ticket) + to, u32(blocks))) signal(t, g.done, to, epoch);
  if (threadIdx.x == 0 && is_last_block(t.mine(g.done.ticket) + t.rank, gridDim.x)) store_relaxed(round, epoch);
  if (blockIdx.x == 0 && threadIdx.x < 32) wait_signals(t, g.done, (1u << t.ranks) - 1 - (1u << t.rank), epoch);
}

}  // namespace

AllGather make_all_gather(Team& team) { return {team.signals("an all-gather's beginning"), team.signals("an all-gather")}; }

void load_all_gather(TeamRank& rank) { rank.load(gather_parts); }

void all_gather(TeamRank& rank, const AllGather& gather, const Symmetric<double>& whole, i64 part) {
  int peers = rank.size() - 1;
  if (peers == 0) return;
  i64 wanted = (part + threads * 2 - 1) / (threads * 2);  // blocks for a peer, of one vector a thread
  int blocks = int(std::clamp<i64>(wanted, 1, most_blocks / peers));
  rank.launch({.blocks = blocks * peers, .threads = threads}, gather_parts, rank.team(), gather, whole, part);
}

}  // namespace sordino::cuda
