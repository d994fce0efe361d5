// What other ranks' rows hold, for setups: a number of each, outside of recordings.
#pragma once
#include <utility>
#include <vector>

#include "sordino/comm/communicator.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino {

class GhostRows {
 public:
  GhostRows() = default;
  /// Collective. `ghosts`: rows of others that this rank wants to know of, increasing.
  GhostRows(Rank& rank, const Partition& rows, const std::vector<i64>& ghosts);

  /// Collective. [ghosts] of `own`, [rows], on the ranks that own them. Cost: a message to and from each neighbour.
  template <Sendable T>
  std::vector<T> fetch(Rank& rank, const std::vector<T>& own) const {
    Communicator comm(rank, channel);
    for (const Wanted& by : wanted_) {
      std::vector<T> values;
      for (i64 row : by.rows) values.push_back(own[std::size_t(row)]);
      comm.send(by.rank, values);
    }
    std::vector<T> found;
    for (int owner : owners_) {  // in the order of their rows
      const std::vector<T> values = comm.receive<T>(owner);
      found.insert(found.end(), values.begin(), values.end());
    }
    return found;
  }

 private:
  static constexpr int channel = 10;
  struct Wanted {
    int rank;
    std::vector<i64> rows;  // counted from this rank's first
  };
  std::vector<Wanted> wanted_;  // by others
  std::vector<int> owners_;     // of the ghosts
};

}  // namespace sordino
