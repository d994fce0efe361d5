// All-reduce of long vectors between ranks of a team: every rank adds one piece over all of them, and all pieces are gathered.
#pragma once
#include "sordino/comm/cuda/all_gather.hpp"

namespace sordino::cuda {

struct AllSum {
  TeamSignals ready;
  AllGather gather;
};

/// Between runs of the team.
AllSum make_all_sum(Team& team);
/// Loads the kernels; before a barrier of the host threads.
void load_all_sum(TeamRank& rank);
/// whole = the sum of all ranks' x, added in their order: ranks * part doubles, of which rank r adds those from r * part on.
/// Asynchronous, on the rank's stream: kernels behind it see the sum, and may write x. It waits for all ranks, so all must
/// issue it, and ranks must not share devices.
void all_sum(TeamRank& rank, const AllSum& sum, const Symmetric<double>& x, const Symmetric<double>& whole, i64 part);
/// Its first half: rank r's piece, from r * part on, of its own whole only. x may be written once all ranks have come that far.
void add_pieces(TeamRank& rank, const AllSum& sum, const Symmetric<double>& x, const Symmetric<double>& whole, i64 part);

}  // namespace sordino::cuda
