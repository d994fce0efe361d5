// How long an all-reduce of host data takes, to start and to wait for, alone and behind a computation: on the engine's clock.
#pragma once
#include "sordino/comm/all_reduce.hpp"

namespace sordino {

/// A product of two n x n matrices that each rank computes between the start of an all-reduce and its end, in host tasks of
/// equally many rows each: where two of them meet, an all-reduce may go on.
struct Product {
  i64 n = 0;          // 0: none
  int commands = 1;   // host tasks
  double flops = 0;   // of a described machine's processor, a second: then nothing is computed
  double spread = 0;  // of a described machine: some ranks take longer, by up to this fraction
};

/// Of the slowest rank, in seconds. Of several measurements the median; total, product and alone are the fastest if there is a
/// product, for what else the machine does may take longer than what is hidden.
struct AllReduceTimes {
  double post = 0, wait = 0, total = 0;  // from the barrier before it to its end, with the product if there is one
  double product = 0;                    // the product alone
  double alone = 0;                      // the all-reduce alone

  /// The share of the all-reduce that the product hides: 1 - (total - product) / alone.
  double overlap() const { return alone > 0 ? 1 - (total - product) / alone : 0; }
};

/// Sums `values` doubles over all ranks, `repeats` times, each behind a barrier, after one that does not count. Collective over
/// the processes of an engine. Throws bad_argument unless repeats > 0, values >= 0 and the product can be meant, and what
/// all_reduce throws.
AllReduceTimes time_all_reduce(Engine& engine, const AllReduceOptions& options, i64 values, int repeats,
                               const Product& product = {});

}  // namespace sordino
