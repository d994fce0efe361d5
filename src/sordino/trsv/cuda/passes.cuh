// Device code: where ranks' passes of a triangular solve meet, by blocks or by levels. Their tables have `ended` and `leaving`.
#pragma once
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::trsv {

/// All threads: whether what goes on may go on: on all ranks the pass before has ended, so nobody still reads what is written
/// now. `Tables`: SolveTables or LevelTables.
template <class Tables>
__device__ bool wait_for_last_pass(const cuda::DeviceTeam& team, const Tables& s, u32 epoch) {
  bool lost = false;
  if (team.ranks > 1 && threadIdx.x < u32(team.ranks))
    lost = !cuda::wait_flag(team, team.mine(s.ended) + threadIdx.x, epoch - 1, s.channel, i32(threadIdx.x));
  return !__syncthreads_or(lost);
}

/// All threads, at the end: the last block tells all ranks.
template <class Tables>
__device__ void end_pass(const cuda::DeviceTeam& team, const Tables& s, u32 epoch) {
  __shared__ bool is_last;
  if (team.ranks == 1) return;
  __syncthreads();
  if (threadIdx.x == 0) is_last = cuda::is_last_block(s.leaving, gridDim.x);
  __syncthreads();
  if (is_last && threadIdx.x < u32(team.ranks)) cuda::raise(team.at(i32(threadIdx.x), s.ended) + team.rank, epoch);
}

}  // namespace sordino::trsv
