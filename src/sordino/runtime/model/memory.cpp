// The model engine's memory: real where arithmetic is, else only counted.
#include <cstring>
#include <new>

#include "sordino/runtime/model/engine.hpp"

namespace sordino::model {

void ModelEngine::allocate(Rank& rank, int vector) {
  auto& info = rank.vectors()[vector];
  Place& p = place(rank);
  p.vectors.push_back(options_.arithmetic ? Storage(info) : Storage());
  Arrival nothing_yet;
  nothing_yet.epoch = options_.first_epoch;
  p.arrivals.emplace_back(info.exchange ? info.exchange->peers.size() : 0, nothing_yet);
  p.sent.emplace_back();
  p.bytes += Storage::bytes(info);
  rank.pushed[vector] = rank.seen[vector] = options_.first_epoch;
}

void ModelEngine::add_reduction(Rank& rank, int slot) {
  auto& r = rank.reductions()[slot];
  const Space& space = rank.space(r.space);
  Place& p = place(rank);
  r.started = r.finished = options_.first_epoch;
  p.started.push_back({never, never});
  p.own_sums.emplace_back();
  std::size_t sums = options_.arithmetic ? std::size_t(space.n_blocks) * std::size_t(r.values()) : 0;
  if (space.replicated) p.own_sums.back().resize(sums);
  if (collectives_.size() > std::size_t(slot)) return;  // another rank was here first
  collectives_.emplace_back();
  for (auto& e : collectives_.back().epochs) {
    e.number = options_.first_epoch - 2;
    if (!space.replicated) e.sums.resize(sums);
  }
}

void ModelEngine::write(Rank& rank, int physical, const double* host, i64 count) {
  if (options_.arithmetic) std::memcpy(place(rank).vectors[physical].get(), host, std::size_t(count) * sizeof(double));
}

void ModelEngine::read(Rank& rank, int physical, double* host, i64 count) {
  if (!options_.arithmetic)
    throw Error(Errc::unsupported, "vector '" + rank.vectors()[physical].name + "' has no values: arithmetic is skipped");
  std::memcpy(host, place(rank).vectors[physical].get(), std::size_t(count) * sizeof(double));
}

void ModelEngine::set_scalar(Rank& rank, int physical, double value) {
  rank.scalar_values[physical] = value;
  rank.scalar_known[physical] = 1;
}

double ModelEngine::get_scalar(Rank& rank, int physical) {
  if (rank.scalar_known[physical]) return rank.scalar_values[physical];
  std::string name = "scalar '" + rank.scalar_names()[physical] + "' ";
  if (!options_.arithmetic) throw Error(Errc::unsupported, name + "has no value: arithmetic is skipped");
  bad_argument(name + "was never computed");
}

void* ModelEngine::allocate_bytes(Rank& rank, std::size_t bytes) {
  rank.check_idle("memory is allocated");
  place(rank).bytes += i64(bytes);
  return options_.arithmetic ? ::operator new(bytes, std::align_val_t(64)) : nullptr;
}

void ModelEngine::release_bytes(Rank& rank, void* pointer, std::size_t bytes) {
  place(rank).bytes -= i64(bytes);
  ::operator delete(pointer, std::align_val_t(64));
}

void ModelEngine::upload(Rank& rank, void* to, const void* from, std::size_t bytes) {
  rank.check_idle("memory is written");
  if (options_.arithmetic) std::memcpy(to, from, bytes);
}

}  // namespace sordino::model
