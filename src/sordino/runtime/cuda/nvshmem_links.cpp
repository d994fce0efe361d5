// Ways through NVSHMEM: all that others write to lies in an arena of its memory. Where this device reaches another's arena its
// kernels store there, and nothing more is to do; else they store into an outbox, and the courier puts what it sees there into
// the receiver's arena. It does so from the host: what NVSHMEM puts into a stream may be a kernel, for which kernels that wait
// leave no room.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {
namespace {

constexpr std::size_t line = 256;
constexpr u64 unit = u64(2) << 20;
constexpr const char* path_word = "SORDINO_NVSHMEM";
constexpr const char* arena_word = "SORDINO_NVSHMEM_ARENA";  // MiB

std::string path_of(const Options& options) {
  const char* path = std::getenv(path_word);
  return options.nvshmem.empty() && path ? path : options.nvshmem;
}

u64 arena_of(const Options& options, std::size_t device_memory) {
  u64 bytes = options.arena ? options.arena : device_memory / 16;
  if (const char* text = std::getenv(arena_word); text && !options.arena) {
    u64 mebibytes = 0;
    auto [end, error] = std::from_chars(text, text + std::strlen(text), mebibytes);
    if (error != std::errc() || *end || mebibytes == 0 || mebibytes > (u64(1) << 30))
      bad_argument(std::string(arena_word) + "=" + text + " is not a number of MiB");
    bytes = mebibytes << 20;
  }
  return (bytes + unit - 1) / unit * unit;
}

std::string mebibytes(u64 bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

void State::join_nvshmem() {
  if (hall->ranks() == 1) return;
  if (options.ranks > 1)
    throw Error(Errc::unsupported, "NVSHMEM takes one rank a process, and here are " + std::to_string(options.ranks) +
                                       ": start a process for each, or choose other links");
  need_a_device_each("NVSHMEM");
  nvshmem = &Nvshmem::of_process(path_of(options));
  OnDevice on(devices[0]);
  std::size_t available = 0, total = 0;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  Invitation told = invite([&] {
    u64 bytes = arena_of(options, total);
    Nvshmem::prepare(bytes, hall->hosts() == 1);
    return Invitation{nvshmem->has_joined() ? Nvshmem::Id{} : nvshmem->make_id(), nvshmem->find_arena(bytes), bytes};
  });
  Nvshmem::prepare(told.bytes, hall->hosts() == 1);
  if (told.arena == nvshmem->arenas() && told.bytes > available)
    throw Error(Errc::unsupported, "device " + std::to_string(devices[0]) + " has " + mebibytes(available) +
                                       " available, too little for NVSHMEM's arena of " + mebibytes(told.bytes) + ": ask for " +
                                       "less (" + arena_word + ", or cuda::Options::arena)");
  meet_processes();  // before anything that all must take part in
  auto look = [this, begin = seconds_now()] {
    attend();
    be_patient(begin, "NVSHMEM");
  };
  nvshmem->join(told.id, hall->first_rank(), hall->ranks(), devices[0], look);
  arena = &nvshmem->take_arena(int(told.arena), told.bytes, look);
  meet_processes();  // all have it, or none builds an engine
  bool far = options.all_far || std::count(arena->of_member.begin(), arena->of_member.end(), nullptr) > 0;
  if (far && !courier) courier = std::make_unique<Courier>(*this, nullptr);
}

char* State::take_of_arena(RankState& r, std::size_t bytes, const std::string& what, BlockPlace& place) {
  bytes = (bytes + line - 1) / line * line;
  if (u64 left = arena->limit - arena->used; bytes > left)
    throw Error(Errc::unsupported, "NVSHMEM's arena of " + mebibytes(arena->limit) + " has no room for " + what + ": " +
                                       std::to_string(bytes) + " bytes needed, " + std::to_string(left) +
                                       " left: ask for more (" + arena_word + ", or cuda::Options::arena)");
  place = {0, arena->used};
  arena->used += bytes;
  r.bytes += i64(bytes);
  return arena->memory + place.offset;
}

// After a fault of another process an arena may still be written to: then nobody takes it again, and it goes with the process.
// Nothing here waits for anybody.
void State::leave_nvshmem(bool alone) {
  if (arena && !alone) nvshmem->give_back(*arena);
  arena = nullptr;
}

// --- what the courier puts ---------------------------------------------------------------------------------------------------

double* State::put_by_nvshmem(Courier::RowsBox& box, RankState& r, const ExchangePeer& p) {
  BlockPlace unused, there = place_of(r, p.rank, Published::vector, box.vector);
  char* rows = arena->memory + there.offset;
  box.put_rows = reinterpret_cast<double*>(rows) + p.remote_first;
  box.put_flag = reinterpret_cast<u32*>(rows + there.flags) + p.remote_index * flag_stride;
  auto* outbox = take_of_arena(r, std::size_t(p.send_count) * sizeof(double), "what is sent to others", unused);
  box.rows = reinterpret_cast<double*>(outbox);
  return reinterpret_cast<double*>(outbox);
}

void State::put_by_nvshmem(Courier::SumsBox& box, RankState& r) {
  BlockPlace unused;
  std::size_t bytes = std::size_t(box.count) * sizeof(Packet);
  for (int to : box.to)
    box.put_to.push_back(reinterpret_cast<Packet*>(arena->memory + place_of(r, to, Published::reduction, box.slot).offset));
  box.staging = reinterpret_cast<Packet*>(take_of_arena(r, bytes, "sums that are sent to others", unused));
  box.veiled = static_cast<Packet*>(take_pinned(r, bytes));
}

void State::put_rows(const Courier::RowsBox& box, u32 word) {
  call("cudaSetDevice", cudaSetDevice(local(box.from).device));
  if (box.count > 0) {
    nvshmem->put(box.put_rows, box.rows, u64(box.count) * sizeof(double), box.to);
    nvshmem->complete();
  }
  nvshmem->put_word(box.put_flag, word, box.to);
}

// The 16 bytes of a packet may arrive in two. So they come twice: first with a tag that says nothing new, then, when that is
// there, as they are; whichever half comes first, the value is there before the tag.
void State::put_sums(const Courier::SumsBox& box, const Packet* packets, i32 first) {
  RankState& r = local(box.from);
  call("cudaSetDevice", cudaSetDevice(r.device));
  u64 bytes = u64(box.count) * sizeof(Packet);
  auto put = [&](const Packet* from) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(box.staging, from, bytes, cudaMemcpyHostToDevice, r.courier));
    call("cudaStreamSynchronize", cudaStreamSynchronize(r.courier));
    for (std::size_t i = 0; i < box.to.size(); i++) nvshmem->put(box.put_to[i] + first, box.staging, bytes, box.to[i]);
  };
  for (i32 k = 0; k < box.count; k++) box.veiled[k] = {packets[k].value, flag_word(box.next - 2, false)};
  put(box.veiled);
  nvshmem->complete();
  put(packets);
}

}  // namespace sordino::cuda
