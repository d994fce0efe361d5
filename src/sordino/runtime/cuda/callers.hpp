// Memory of the caller's that a vector is wrapped around: commands compute in it where they can, else on a copy.
#pragma once
#include <vector>

#include "sordino/runtime/command.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::cuda {

struct RankState;

/// Whether commands can compute in it: memory of the rank's own device, at a multiple of 16 bytes; and, if other ranks store
/// into it, memory of cudaMalloc's that all of them reach. `apart`: some are in other processes, which do not.
bool can_compute_in(const double* callers, const RankState& r, bool stored_into, bool apart);

/// The copies that a replay of a recording takes of wrapped vectors: own rows of all that it touches before it begins, and of
/// all that it writes when it has ended. They are booked in the ledger.
class Copies {
 public:
  Copies(Rank& rank, RankState& memory, const Recording& recording, const std::vector<int>& vector_map);
  void bring() const;      // behind what is in the rank's stream; asynchronous where the memory allows it
  void give_back() const;  // returns when they are there

 private:
  enum class To { device, caller };
  void copy(const std::vector<int>& vectors, To to) const;

  Rank& rank_;
  RankState& memory_;
  std::vector<int> touched_, written_;  // physical
};

}  // namespace sordino::cuda
