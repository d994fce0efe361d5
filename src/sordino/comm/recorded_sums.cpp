#include "sordino/comm/recorded_sums.hpp"

#include <cstring>

#include "sordino/comm/algorithms/algorithms.hpp"
#include "sordino/comm/all_reduce_times.hpp"
#include "sordino/comm/desk.hpp"
#include "sordino/comm/folding.hpp"

namespace sordino {
namespace {

/// By what the engine says of its machine. The engine's own way comes first: others must be faster.
AllReduceOptions fastest(Engine& engine, AllReduceOptions options) {
  Machine machine = engine.described();
  MessageCosts costs = costs_of_commands(machine);
  double least = machine.reduction(engine.size());
  options.algorithm = Algorithm::ordered;
  if (engine.is_device()) return options;  // what the host carries is slower than what devices store
  for (Algorithm a : {Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level}) {
    AllReduceOptions other = options;
    other.algorithm = a;
    if (double t = all_reduce_time(other, costs, engine.size()); t < least) {
      least = t;
      options.algorithm = a;
    }
  }
  return options;
}

// Who has an epoch from a flag has 31 bits of it.
bool differ(u32 epoch, u32 other) { return (epoch ^ other) << 1 != 0; }

}  // namespace

AllReduceOptions sum_by(Engine& engine, const AllReduceOptions& options) {
  AllReduceOptions o = options;
  if (o.algorithm == Algorithm::fastest) o = fastest(engine, o);
  if (o.algorithm == Algorithm::automatic) o.algorithm = Algorithm::ordered;
  o = chosen(o, engine);
  if (o.algorithm != Algorithm::ordered && engine.size() > 1) engine.sum_by(std::make_unique<RecordedSums>(engine, o));
  return o;
}

RecordedSums::RecordedSums(Engine& engine, const AllReduceOptions& options)
    : options_(options), first_rank_(engine.first_rank()) {
  for (int r = 0; r < engine.local_ranks(); r++) seats_.push_back(std::make_unique<Seat>());
}

RecordedSums::Sum::Sum(Rank& rank, int channel, const Signature& signature, u32 number)
    : operation(rank, channel, signature, combine<double>), epoch(number) {}

void RecordedSums::prepare(Rank& rank) { Desk::of(rank); }

RecordedSums::Sum* RecordedSums::find(const Rank& rank, int slot, u32 epoch) const {
  Seat& mine = seat(rank);
  std::lock_guard lock(mine.mutex);
  auto found = mine.sums.find({slot, epoch & 1});
  return found == mine.sums.end() || differ(found->second->epoch, epoch) ? nullptr : found->second.get();
}

// Each reduction has a channel of its own beyond those of communicators: ranks may start different ones in different orders.
void RecordedSums::start(Rank& rank, int slot, u32 epoch, std::vector<double> part) {
  Signature s{.kind = Collective::all_reduce,
              .fold = Fold::sum,
              .options = options_,
              .type = scalar_of<double>(),
              .count = i64(part.size())};
  auto next = std::make_unique<Sum>(rank, Desk::most_channels + slot, s, epoch);
  Operation& o = next->operation;
  o.values.resize(part.size() * sizeof(double));
  std::memcpy(o.values.data(), part.data(), o.values.size());
  {
    Seat& mine = seat(rank);
    std::lock_guard lock(mine.mutex);
    mine.sums.insert_or_assign({slot, epoch & 1}, std::move(next));
  }
  o.start(schedules::of(o));
}

const std::vector<double>* RecordedSums::result(Rank& rank, int slot, u32 epoch) {
  Sum* s = find(rank, slot, epoch);
  if (!s) return nullptr;
  if (!s->operation.done()) Desk::of(rank).advance();
  if (!s->operation.done()) return nullptr;
  if (s->operation.error()) std::rethrow_exception(s->operation.error());
  if (s->values.empty()) {
    s->values.resize(s->operation.values.size() / sizeof(double));
    std::memcpy(s->values.data(), s->operation.values.data(), s->operation.values.size());
  }
  return &s->values;
}

std::string RecordedSums::missing(Rank& rank, int slot, u32 epoch) const {
  Sum* s = find(rank, slot, epoch);
  return s ? s->operation.what_is_missing() : "rank " + std::to_string(rank.id()) + "'s own part";
}

std::vector<double> RecordedSums::ends(const Machine& machine, std::vector<double> starts) const {
  return all_reduce_ends(options_, costs_of_commands(machine), std::move(starts));
}

}  // namespace sordino
