// All-gather of long vectors between ranks of a team, by one kernel a rank.
#pragma once
#include "sordino/runtime/cuda/team.hpp"

namespace sordino::cuda {

struct AllGather {
  TeamSignals ready, done;
};

/// Between runs of the team.
AllGather make_all_gather(Team& team);
/// Loads the kernel; before a barrier of the host threads.
void load_all_gather(TeamRank& rank);
/// Rank r's `part` doubles at r * part of its `whole` come to the same place on all ranks. In place, asynchronous, on the
/// rank's stream: kernels behind it see all parts, kernels ahead of it may still have used the old ones. It waits for all
/// ranks, so all must issue it, and ranks must not share devices.
void all_gather(TeamRank& rank, const AllGather& gather, const Symmetric<double>& whole, i64 part);

}  // namespace sordino::cuda
