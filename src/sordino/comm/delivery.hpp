// Letters between ranks of which nobody knows who will write to whom.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

struct Dispatch {
  int to = 0, from = 0;
  std::vector<i64> words = {};
};

/// Collective: brings each rank's letters, whose `from` need not be set, to whom they are for, and returns those for this rank
/// in the order of their senders, and of one sender in that of its list. No rank hears from all others: in each of ceil(log2 P)
/// rounds the ranks among which a letter may still be are halved, and one message crosses from each rank of a half to one of
/// the other, two where the halves are not equal (the crystal router of Fox et al., Solving Problems on Concurrent Processors,
/// 1988). Every letter is copied in as many rounds. `channel`: as a Communicator's.
std::vector<Dispatch> deliver(Rank& rank, int channel, std::vector<Dispatch> letters);

}  // namespace sordino
