// Which ranks own which layers of a grid's coarse levels: fewer and fewer of them, and at last one.
//
// A product on a level that several ranks share waits for a message, however few rows it has; on one rank it is a command
// alone. So small levels live on one. What other ranks know of such a level goes there in one message of each, and comes back
// in one; between one level and the next at most `most_senders` ranks send to one, so that of thousands of ranks some own
// levels in between. Ranks whose layers cannot be paired hand them on, too, so that coarsening goes on.
//
// Owners are ranks 0, k, 2 k, ...: with k a power of two, as the ranks of a node mostly are, those near to what they collect.
#pragma once
#include <vector>

#include "sordino/linalg/extents.hpp"
#include "sordino/linalg/partition.hpp"

namespace sordino {

/// Levels of at most so many rows live on one rank unless somebody says otherwise (Options::level_rows). On a GPU the commands
/// of a V-cycle on a level take ten times what so many rows do, and shared between nodes a level waits for a message of each of
/// its halos (docs/multigrid.md). A core of a CPU computes as long for a few hundred rows as it waits for messages.
inline constexpr int level_rows_of_gpus = 16384, level_rows_of_cpus = 512;

/// Ranks that hand their rows to one between two levels.
inline constexpr int most_senders = 64;

class LevelRanks {
 public:
  /// Of a first level that ranks own in whole layers, and of those below it: of at most `alone` rows, on one rank; 0: fewer
  /// ranks only where layers cannot be paired otherwise.
  LevelRanks(const Partition& first, const Extents& cells, i64 alone);

  /// [ranks + 1] each rank's first layer, and how many there are in all; of a rank without any, the next one's.
  const std::vector<i64>& cuts() const { return cuts_; }
  /// Whether no pair of layers is of two ranks.
  bool can_pair() const;
  /// Layers are pairs of those before.
  void pair();
  /// All layers, which one rank has, are so many, in another direction.
  void recount(i64 layers);
  /// Who owns the level of so many rows whose layers these are: where it is small, or layers that are to be paired cannot be,
  /// others than now.
  void settle(i64 rows, bool pairs);

 private:
  i64 owners(i64 stride) const { return (i64(cuts_.size()) - 2 + stride) / stride; }
  i64 most_owners(i64 rows) const;

  std::vector<i64> cuts_;
  i64 alone_, stride_ = 1;  // between owners
};

/// The rows of a level in such layers; ranks without layers have none.
Partition partition_in_cuts(const std::vector<i64>& cuts, const Extents& cells);

/// Of a grid that ranks own in layers: the last direction with more than one cell, or x.
int last_direction(const Extents& cells);
/// Cells of a layer across that direction.
i64 rows_of_layer(const Extents& cells);

}  // namespace sordino
