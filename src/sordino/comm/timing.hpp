// How long an all-reduce of host data takes, to start and to wait for: on the engine's clock.
#pragma once
#include "sordino/comm/all_reduce.hpp"

namespace sordino {

/// Of the slowest rank, in seconds; of several measurements the median each.
struct AllReduceTimes {
  double post = 0, wait = 0, total = 0;
};

/// Sums `values` doubles over all ranks, `repeats` times, each behind a barrier, after one that does not count. Collective over
/// the processes of an engine. Throws bad_argument unless repeats > 0 and values >= 0, and what all_reduce throws.
AllReduceTimes time_all_reduce(Engine& engine, const AllReduceOptions& options, i64 values, int repeats);

}  // namespace sordino
