#include "sordino/runtime/cuda/callers.hpp"

#include <cstdint>

#include "sordino/runtime/contains.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

// What peers store into is memory of cudaMalloc, to which peer access extends: of no other can such a handle be had.
bool peers_reach(const double* p) {
  cudaIpcMemHandle_t handle;
  bool reach = cudaIpcGetMemHandle(&handle, const_cast<double*>(p)) == cudaSuccess;
  if (!reach) cudaGetLastError();
  return reach;
}

}  // namespace

bool can_compute_in(const double* callers, const RankState& r, bool stored_into, bool apart) {
  constexpr std::size_t alignment = 16;
  cudaPointerAttributes a{};
  call("cudaPointerGetAttributes", cudaPointerGetAttributes(&a, callers));
  if (a.type != cudaMemoryTypeDevice || a.device != r.device) return false;
  if (reinterpret_cast<std::uintptr_t>(callers) % alignment) return false;
  return !stored_into || (!apart && peers_reach(callers));
}

Copies::Copies(Rank& rank, RankState& memory, const Recording& recording, const std::vector<int>& vector_map)
    : rank_(rank), memory_(memory) {
  for (int turn = 0; turn < recording.period; turn++) {
    std::vector<int> map = rotated(vector_map, recording.rotate, turn);
    auto add = [&](const std::vector<int>& logical, std::vector<int>& to) {
      for (int v : logical)
        if (int p = map[std::size_t(v)]; memory_.vectors[std::size_t(p)].copy_of && !contains(to, p)) to.push_back(p);
    };
    for (auto& c : recording.commands) {
      for (auto* used : {&c.reads, &c.writes, &c.ghosts, &c.pushes}) add(*used, touched_);
      add(c.writes, written_);
    }
  }
}

void Copies::bring() const { copy(touched_, To::device); }

void Copies::give_back() const {
  copy(written_, To::caller);
  if (!written_.empty()) call("cudaStreamSynchronize", cudaStreamSynchronize(memory_.stream));
}

void Copies::copy(const std::vector<int>& vectors, To to) const {
  for (int v : vectors) {
    const VectorMemory& m = memory_.vectors[std::size_t(v)];
    std::size_t bytes = std::size_t(rank_.space(rank_.vectors()[std::size_t(v)].space).rows) * sizeof(double);
    double *target = to == To::device ? m.rows : m.copy_of, *source = to == To::device ? m.copy_of : m.rows;
    call("cudaMemcpyAsync", cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, memory_.stream));
    rank_.ledger.copied_bytes += i64(bytes);
  }
}

}  // namespace sordino::cuda
