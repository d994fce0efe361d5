// The host engine's memory: each rank allocates, and first touches, its own.
#include <cstring>

#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/host/wait.inl"

namespace sordino::host {

void HostEngine::allocate(Rank& rank, int vector) {
  auto& info = rank.vectors()[vector];
  std::size_t peers = info.exchange ? info.exchange->peers.size() : 0;
  Storage rows(info);
  auto flags = std::make_unique<Flag[]>(peers);
  for (std::size_t i = 0; i < peers; i++) flags[i].word = flag_word(options_.first_epoch, false);
  rank.pushed[vector] = rank.seen[vector] = options_.first_epoch;
  std::lock_guard lock(mutex_);
  Memory& m = memory(rank.id());
  if (m.vectors.size() == Memory::most_names) throw Error(Errc::unsupported, "a rank holds at most 4096 vectors");
  m.vectors.push_back(std::move(rows));
  m.arrivals.push_back(std::move(flags));
  m.sent.push_back(0);
  m.sent_at.push_back(0);
  m.bytes += Storage::bytes(info);
}

void HostEngine::add_reduction(Rank& rank, int slot) {
  auto& r = rank.reductions()[slot];
  auto g = std::make_unique<Gather>();
  for (auto& s : g->sums) s.resize(std::size_t(rank.space(r.space).n_blocks) * r.values());
  g->flags = std::make_unique<Flag[]>(2 * std::size_t(size_));
  if (summing()) summing()->prepare(rank);
  rank.reductions()[slot].started = rank.reductions()[slot].finished = options_.first_epoch;
  for (int i = 0; i < 2 * size_; i++) g->flags[i].word = flag_word(options_.first_epoch - 2, false);
  std::lock_guard lock(mutex_);
  if (memory(rank.id()).gathers.size() == Memory::most_names)
    throw Error(Errc::unsupported, "a rank holds at most 4096 reductions");
  memory(rank.id()).gathers.push_back(std::move(g));
}

void HostEngine::write(Rank& rank, int physical, const double* host, i64 count) {
  std::memcpy(memory(rank.id()).vectors[physical].get(), host, std::size_t(count) * sizeof(double));
}

void HostEngine::read(Rank& rank, int physical, double* host, i64 count) {
  std::memcpy(host, memory(rank.id()).vectors[physical].get(), std::size_t(count) * sizeof(double));
}

void HostEngine::set_scalar(Rank& rank, int physical, double value) {
  rank.scalar_values[physical] = value;
  rank.scalar_known[physical] = 1;
}

double HostEngine::get_scalar(Rank& rank, int physical) {
  if (!rank.scalar_known[physical]) bad_argument("scalar '" + rank.scalar_names()[physical] + "' was never computed");
  return rank.scalar_values[physical];
}

double HostEngine::now(Rank&) { return seconds_now(); }

void* HostEngine::allocate_bytes(Rank& rank, std::size_t bytes) {
  rank.check_idle("memory is allocated");
  memory(rank.id()).bytes += i64(bytes);
  return ::operator new(bytes, std::align_val_t(64));
}

void HostEngine::release_bytes(Rank& rank, void* pointer, std::size_t bytes) {
  memory(rank.id()).bytes -= i64(bytes);
  ::operator delete(pointer, std::align_val_t(64));
}

void HostEngine::upload(Rank& rank, void* to, const void* from, std::size_t bytes) {
  rank.check_idle("memory is written");
  std::memcpy(to, from, bytes);
}

}  // namespace sordino::host
