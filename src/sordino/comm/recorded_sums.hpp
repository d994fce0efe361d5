// Recorded reductions by the ways of host data: recursive doubling, trees, two levels, MPI_Iallreduce. A rank first adds its
// own parts; what follows are the schedules of algorithms/algorithms.hpp.
//
// The bits of these sums depend on the number of ranks, and some of them on the layout (reproducible() in all_reduce.hpp). The
// engines' own way, which is the default, adds blocks of rows in one order whatever the number of ranks.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sordino/comm/all_reduce.hpp"
#include "sordino/comm/operation.hpp"
#include "sordino/runtime/summing.hpp"

namespace sordino {

/// From now on the engine's recorded reductions go this way. Before anything is recorded. `automatic` and `ordered` are the
/// engine's own way; `fastest` is what the engine's description of its machine says (Engine::described()). Returns what was
/// chosen. Throws unsupported where the engine cannot go this way.
AllReduceOptions sum_by(Engine& engine, const AllReduceOptions& options);

class RecordedSums final : public Summing {
 public:
  RecordedSums(Engine& engine, const AllReduceOptions& options);

  void prepare(Rank& rank) override;
  void start(Rank& rank, int slot, u32 epoch, std::vector<double> part) override;
  const std::vector<double>* result(Rank& rank, int slot, u32 epoch) override;
  std::string missing(Rank& rank, int slot, u32 epoch) const override;
  std::vector<double> ends(const Machine& machine, std::vector<double> starts) const override;

 private:
  struct Sum {
    Sum(Rank& rank, int channel, const Signature& signature, u32 epoch);
    Operation operation;
    u32 epoch;
    std::vector<double> values;  // once they are there
  };
  struct Seat {
    mutable std::mutex mutex;                                  // of the table: others may ask what is missing
    std::map<std::pair<int, u32>, std::unique_ptr<Sum>> sums;  // by slot and parity of the epoch
  };
  Seat& seat(const Rank& rank) const { return *seats_[std::size_t(rank.id() - first_rank_)]; }
  Sum* find(const Rank& rank, int slot, u32 epoch) const;  // null: not started

  AllReduceOptions options_;
  int first_rank_;
  std::vector<std::unique_ptr<Seat>> seats_;  // [rank of this process]
};

}  // namespace sordino
