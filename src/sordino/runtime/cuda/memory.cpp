// The cuda engine's memory: allocated between replays only, and accounted for.
#include <algorithm>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/callers.hpp"
#include "sordino/runtime/cuda/neighbours.hpp"
#include "sordino/runtime/cuda/pointers.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

namespace {

/// Of the current device. Null where it has too little.
char* piece_of(std::size_t bytes) {
  Range range("take device memory");
  void* p = nullptr;
  const cudaError_t e = cudaMalloc(&p, bytes);
  if (e == cudaErrorMemoryAllocation)
    cudaGetLastError();
  else
    call("cudaMalloc", e);
  return static_cast<char*>(p);
}

[[noreturn]] void refuse(const RankState& r, std::size_t bytes, const std::string& what) {
  std::size_t available = 0, total = 0;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  throw Error(Errc::unsupported, "device " + std::to_string(r.device) + " has too little memory for " + what + ": " +
                                     std::to_string(bytes) + " bytes needed, " + std::to_string(available) + " available");
}

void count(RankState& r, std::size_t bytes) {
  r.counters.allocations++;
  r.bytes += i64(bytes);
}

}  // namespace

void* State::take_memory(RankState& r, std::size_t bytes, const std::string& what) {
  char* const p = piece_of(std::max<std::size_t>(bytes, 1));
  if (!p) refuse(r, bytes, what);
  count(r, bytes);
  return p;
}

char* State::take_kept(RankState& r, std::size_t bytes, const std::string& what) {
  char* const p = r.kept.give(i64(bytes));
  if (!p) refuse(r, bytes, what);
  count(r, bytes);
  return p;
}

char* RankState::take_piece(i64 bytes) {
  char* const p = piece_of(std::size_t(bytes));
  if (p) tables.push_back(p);
  return p;
}

char* RankState::take_notes(i64 bytes) {
  if (bytes <= notes_at_once && spare_notes) return std::exchange(spare_notes, nullptr);
  void* p = nullptr;
  call("cudaHostAlloc", cudaHostAlloc(&p, std::size_t(bytes), cudaHostAllocPortable | cudaHostAllocMapped));
  boxes.push_back(p);
  return static_cast<char*>(p);
}

char* State::take_for_name(RankState& r, std::size_t bytes, bool others_write, const std::string& what, BlockPlace& place) {
  constexpr std::size_t line = 256;
  if (others_write && arena) return take_of_arena(r, bytes, what, place);
  if (!others_write || !maps_memory()) {
    place.block = -1;
    return take_kept(r, bytes, what);
  }
  bytes = (bytes + line - 1) / line * line;
  auto fits = [&](const SharedBlock& b) { return b.bytes - b.used >= bytes; };
  auto block = std::find_if(r.blocks.begin(), r.blocks.end(), fits);
  if (block == r.blocks.end()) {
    SharedBlock made;
    made.bytes = std::max<std::size_t>(1, (bytes + mapped_unit - 1) / mapped_unit) * mapped_unit;
    made.memory = static_cast<char*>(take_memory(r, made.bytes, what));
    block = r.blocks.insert(r.blocks.end(), made);
    share_memory(*hall, r.index, int(r.blocks.size()) - 1, made.memory);
  }
  place = {int(block - r.blocks.begin()), block->used};
  block->used += bytes;
  return block->memory + place.offset;
}

void State::copy_in(RankState& r, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;  // of ranks that own no rows of a space, whose vectors lie nowhere
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, r.stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(r.stream));
}

void* State::take_pinned(RankState& r, std::size_t bytes) {
  void* p = nullptr;
  call("cudaHostAlloc", cudaHostAlloc(&p, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  r.boxes.push_back(p);
  r.counters.allocations++;
  return p;
}

// Errors are not thrown from here: this runs in destructors, perhaps after a device has failed.
void State::free_memory(RankState& r, bool others_map) {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(r.device);
  for (cudaStream_t s : {r.stream, r.courier, r.copies})
    if (s) cudaStreamSynchronize(s);
  for (void* t : r.tables) cudaFree(t);
  for (void* b : r.boxes) cudaFreeHost(b);
  if (!others_map)
    for (auto& b : r.blocks) cudaFree(b.memory);  // else it goes with the process
  for (auto& [vector, twin] : r.twins) {
    cudaFreeHost(twin.words);
    if (twin.copied) cudaEventDestroy(twin.copied);
  }
  for (auto* channels : {&r.vector_channels, &r.reduction_channels})
    for (auto& c : *channels)
      for (cudaEvent_t e : c->event)
        if (e) cudaEventDestroy(e);
  for (cudaStream_t s : {r.stream, r.courier, r.copies})
    if (s) cudaStreamDestroy(s);
  cudaSetDevice(before);
}

// --- what a Rank asks for ----------------------------------------------------------------------------------------------------

// One piece of memory a vector: its rows, if commands do not compute in the caller's, then a line for each peer's flag and one
// for what this rank sent last.
void CudaEngine::allocate(Rank& rank, int vector) {
  RankState& r = state_->of(rank);
  auto& info = rank.vectors()[vector];
  std::size_t peers = info.exchange ? info.exchange->peers.size() : 0;
  constexpr std::size_t line = flag_stride * sizeof(u32);
  bool stored_into = info.exchange && (state_->devices.size() > 1 || state_->several_processes());
  bool apart = state_->maps_memory() || state_->arena;
  bool in_place = info.callers && can_compute_in(info.callers, r, stored_into, apart);
  std::size_t rows = in_place ? 0 : (std::size_t(info.length) * sizeof(double) + line - 1) / line * line;
  std::size_t flags = info.exchange ? (peers + 1) * line : 0;
  if (r.vectors.size() == RankState::most_names) throw Error(Errc::unsupported, "a rank holds at most 4096 vectors");
  u32 first = state_->options.first_epoch;
  BlockPlace place;
  char* p = rows + flags == 0
                ? nullptr
                : state_->take_for_name(r, rows + flags, info.exchange != nullptr, "vector '" + info.name + "'", place);
  VectorMemory v;
  v.rows = in_place ? info.callers : reinterpret_cast<double*>(p);
  if (!in_place) v.copy_of = info.callers;
  if (p) call("cudaMemsetAsync", cudaMemsetAsync(p, 0, rows + flags, r.stream));
  if (info.exchange) {
    v.flags = reinterpret_cast<u32*>(p + rows);
    v.sent = v.flags + peers * flag_stride;
    std::vector<u32> words((peers + 1) * flag_stride, flag_word(first, false));
    state_->copy_in(r, v.flags, words.data(), words.size() * sizeof(u32));
  }
  call("cudaStreamSynchronize", cudaStreamSynchronize(r.stream));
  rank.pushed[vector] = rank.seen[vector] = first;
  place.flags = rows;
  if (place.block >= 0) state_->hall->publish(r.index, Published::vector, vector, place);
  if (state_->arena && info.exchange) state_->tell_place(r.index, Published::vector, vector, place);
  std::lock_guard lock(state_->mutex);
  r.vectors.push_back(v);
  state_->add_channel(r.vector_channels, r);
}

void CudaEngine::expect_vectors(Rank& rank, i64 bytes) {
  if (!state_->maps_memory() && !state_->arena) state_->of(rank).kept.expect(bytes);
}

// One piece a reduction: everybody's packets of two epochs; my thread blocks' packets, or my tiles' sums and how many of
// each block are there; and the table of everybody's addresses.
void CudaEngine::add_reduction(Rank& rank, int slot) {
  RankState& r = state_->of(rank);
  auto& info = rank.reductions()[slot];
  const Space& space = rank.space(info.space);
  bool fixed = state_->order() == SumOrder::fixed;
  ReductionMemory d;
  d.targets = space.replicated ? 1 : size();
  bool by_host = state_->options.sums == Sums::by_host && d.targets > 1;
  if (by_host && !summing())
    throw Error(Errc::unsupported, "this engine was built for sums by the host, and no way was chosen: call sum_by() with one");
  if (by_host) summing()->prepare(rank);
  d.parts = fixed ? space.n_blocks : by_host ? 1 : d.targets;  // the host has added them
  d.place = fixed ? space.first_block : space.replicated || by_host ? 0 : rank.id();
  d.own_parts = fixed ? space.my_blocks() : 1;
  d.values = info.values();
  if (d.values > most_values || d.values * (by_host ? 1 : d.targets) > most_parts)
    throw Error(Errc::unsupported, "a reduction of " + std::to_string(d.values) + " values over " + std::to_string(d.targets) +
                                       " ranks: the cuda engine takes at most " + std::to_string(most_values) +
                                       " values, and " + std::to_string(most_parts) + " of all ranks");
  if (r.reductions.size() == RankState::most_names) throw Error(Errc::unsupported, "a rank holds at most 4096 reductions");
  u32 first = state_->options.first_epoch;
  std::size_t packets = 2 * std::size_t(d.parts) * d.values, partials = fixed ? 0 : std::size_t(d.values) * r.grid_limit;
  std::size_t sums = fixed ? std::size_t(d.values) * space.tiles() * sizeof(double) : 0;
  std::size_t counts = fixed ? std::size_t(space.my_blocks()) * sizeof(u32) : 0;
  // No packet may look like one of the next two epochs.
  std::vector<Packet> old(packets + partials, {0.0, flag_word(first - 2, false)});
  std::string what = "the reduction into '" + rank.scalar_names()[info.to[0]] + "'";
  std::size_t bytes = old.size() * sizeof(Packet);
  std::size_t addresses = d.targets * sizeof(Packet*), due = 3 * sizeof(u64);
  BlockPlace place;
  char* p = state_->take_for_name(r, bytes + addresses + due + sums + counts, d.targets > 1, what, place);
  d.packets = reinterpret_cast<Packet*>(p);
  d.partials = d.packets + packets;
  d.to = reinterpret_cast<Packet**>(p + bytes);
  d.due = reinterpret_cast<u64*>(p + bytes + addresses);
  d.tile_sums = reinterpret_cast<double*>(p + bytes + addresses + due);
  d.tiles_done = reinterpret_cast<u32*>(p + bytes + addresses + due + sums);
  call("cudaMemsetAsync", cudaMemsetAsync(d.due, 0, due + sums + counts, r.stream));
  state_->copy_in(r, d.packets, old.data(), bytes);
  call("cudaStreamSynchronize", cudaStreamSynchronize(r.stream));
  info.started = info.finished = first;
  place.first_part = d.place;
  if (d.targets > 1) state_->hall->publish(r.index, Published::reduction, slot, place);
  if (d.targets > 1 && state_->arena) state_->tell_place(r.index, Published::reduction, slot, place);
  std::lock_guard lock(state_->mutex);
  r.reductions.push_back(d);
  state_->add_channel(r.reduction_channels, r);
}

void CudaEngine::write(Rank& rank, int physical, const double* host, i64 count) {
  RankState& r = state_->of(rank);
  const VectorMemory& v = r.vectors[physical];
  start_copying(v.copy_of ? v.copy_of : v.rows, host, std::size_t(count) * sizeof(double), r.stream);
  call("cudaStreamSynchronize", cudaStreamSynchronize(r.stream));
}

void CudaEngine::read(Rank& rank, int physical, double* host, i64 count) {
  RankState& r = state_->of(rank);
  const VectorMemory& v = r.vectors[physical];
  start_copying(host, v.copy_of ? v.copy_of : v.rows, std::size_t(count) * sizeof(double), r.stream);
  call("cudaStreamSynchronize", cudaStreamSynchronize(r.stream));
}

// Scalars travel to the device with the next replay, and back with its report.
void CudaEngine::set_scalar(Rank& rank, int physical, double value) {
  rank.scalar_values[physical] = value;
  rank.scalar_known[physical] = 1;
}

double CudaEngine::get_scalar(Rank& rank, int physical) {
  if (!rank.scalar_known[physical]) bad_argument("scalar '" + rank.scalar_names()[physical] + "' was never computed");
  return rank.scalar_values[physical];
}

void* CudaEngine::allocate_bytes(Rank& rank, std::size_t bytes) {
  rank.check_idle("memory is allocated");
  return state_->take_memory(state_->of(rank), bytes, "an operator's arrays");
}

void CudaEngine::release_bytes(Rank& rank, void* pointer, std::size_t bytes) {
  if (state_->lost) return;  // it may still be in use, and freeing would wait for that
  RankState& r = state_->of(rank);
  int before = 0;  // destructors of operators run on any thread, perhaps after a device has failed: nothing is thrown
  cudaGetDevice(&before);
  cudaSetDevice(r.device);
  cudaFree(pointer);
  cudaSetDevice(before);
  r.bytes -= i64(bytes);
}

void CudaEngine::upload(Rank& rank, void* to, const void* from, std::size_t bytes) {
  rank.check_idle("memory is written");
  OnDevice on(state_->of(rank).device);
  state_->copy_in(state_->of(rank), to, from, bytes);
}

i64 CudaEngine::bytes_held(int local_rank) const { return state_->ranks[local_rank]->bytes; }
i64 CudaEngine::device_allocations(int local_rank) const { return state_->ranks[local_rank]->counters.allocations; }

}  // namespace sordino::cuda
