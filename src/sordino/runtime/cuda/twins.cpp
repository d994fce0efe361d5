// Pinned twins of vectors: copies have a stream of their own, so that replays go on beside them.
#include <algorithm>
#include <cstring>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

double* CudaEngine::pinned_twin(Rank& rank, int vector) {
  RankState& r = state_->of(rank);
  OnDevice on(r.device);
  TwinMemory& t = r.twins[vector];
  std::size_t bytes = std::size_t(std::max<i64>(rank.vectors()[std::size_t(vector)].length, 1)) * sizeof(double);
  if (!t.words) {
    call("cudaHostAlloc", cudaHostAlloc(reinterpret_cast<void**>(&t.words), bytes, cudaHostAllocPortable));
    std::memset(t.words, 0, bytes);
    r.counters.allocations++;
  }
  if (!t.copied) call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&t.copied, cudaEventDisableTiming));
  return t.words;
}

// Behind what the rank has in its stream, where a caller's kernels may be ahead. What follows there waits for nothing: a replay
// that uses the vector is refused until the copy has been waited for.
void CudaEngine::start_copy(Rank& rank, const TwinCopy& copy) {
  RankState& r = state_->of(rank);
  const VectorMemory& v = r.vectors[std::size_t(copy.physical)];
  cudaEvent_t event = r.twins.at(copy.vector).copied;
  double* rows = v.copy_of ? v.copy_of : v.rows;
  double *to = copy.fetches ? copy.twin : rows, *from = copy.fetches ? rows : copy.twin;
  call("cudaEventRecord", cudaEventRecord(event, r.stream));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(r.copies, event, 0));
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, std::size_t(copy.count) * sizeof(double), cudaMemcpyDefault, r.copies));
  call("cudaEventRecord", cudaEventRecord(event, r.copies));
}

bool CudaEngine::has_copied(Rank& rank, const TwinCopy& copy) {
  cudaError_t e = cudaEventQuery(state_->of(rank).twins.at(copy.vector).copied);
  if (e == cudaErrorNotReady) return false;
  call("cudaEventQuery", e);
  return true;
}

void CudaEngine::wait_for_copy(Rank& rank, const TwinCopy& copy) {
  auto what = [&] { return "the copy between '" + rank.vectors()[std::size_t(copy.vector)].name + "' and its twin"; };
  state_->wait(rank, [&] { return has_copied(rank, copy); }, what);
}

}  // namespace sordino::cuda
