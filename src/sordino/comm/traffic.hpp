// Messages of a recorded program: which words of a vector go to whom. Whoever builds one of these on all ranks, and makes a
// vector with it, can send by push(v) in any command, and receive by reading v through a ghost field in a later one. What lies
// in between hides the message. Each is built once, by all ranks together, and used any number of times without the host.
//
// Vectors keep a pointer to their exchange: it must outlive them, where it is.
//
// Received words are the vector's ghosts, behind its own rows, in the order stated. One write into the receiver's memory a
// message, no copy on the way, and no matching of tags: the place was agreed on here.
#pragma once
#include <vector>

#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Own rows that go to another rank, in the order in which they are to arrive.
struct Sending {
  int rank;
  std::vector<i32> rows;
};
/// Words that come from another rank.
struct Receiving {
  int rank;
  i32 words;
};

/// Point to point: ghosts lie in the order of `receivings`. At most one message a pair and direction; between two ranks that
/// talk in one direction only, an empty message goes back, which says that the receiver is ready again.
/// Throws bad_argument on both ranks if one sends another number of words than the other receives; a rank that does not name
/// the other at all is waited for, with the engine's timeout.
Exchange point_to_point(Rank& rank, i32 own_rows, const std::vector<Sending>& sendings,
                        const std::vector<Receiving>& receivings);

/// The root's own rows are everybody else's ghosts; the others own none, or rows that stay at home.
Exchange broadcast_from(Rank& rank, i32 own_rows, i32 words, int root);
/// Everybody's own rows, any number of them, are the root's ghosts, in the order of ranks.
Exchange gather_at(Rank& rank, i32 own_rows, int root);
/// The root's own rows, counts[0] for rank 0 and so on, without its own part, are the others' ghosts.
Exchange scatter_from(Rank& rank, const std::vector<i32>& counts, int root);
/// Everybody's own rows are everybody else's ghosts, in the order of ranks.
Exchange all_gather_exchange(Rank& rank, i32 own_rows);
/// Own rows, counts[0] for rank 0 and so on, go where they say; ghosts lie in the order of ranks. The rank's own part stays.
Exchange all_to_all_exchange(Rank& rank, const std::vector<i32>& counts);

}  // namespace sordino
