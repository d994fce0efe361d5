// Dot products of whole vectors that the ranks of a group share: each adds up its blocks of rows, and all of them add the sums
// of all blocks in their order, so that every rank has the same bits.
#pragma once
#include <vector>

#include "sordino/runtime/engine_memory.hpp"
#include "sordino/solvers/whole_bicgstab_steps.hpp"

namespace sordino::whole_vectors {

/// What a rank of a group has of a vector: the others have the other shares. `cuts`: [group + 1] rows.
Exchange within_group(const Rank& rank, const std::vector<i32>& cuts);
/// Its own share.
Split share_of(const Rank& rank, const std::vector<i32>& cuts);

/// The blocks of a replicated space, dealt to the ranks of a group.
struct Deal {
  std::vector<i32> tiles, rows;  // of Blocks
  std::vector<i32> block_cuts, row_cuts;

  Deal(const Space& space, int group);
  i32 blocks() const { return i32(tiles.size()) - 1; }
  i64 rows_of(std::size_t rank_of_group) const { return row_cuts[rank_of_group + 1] - row_cuts[rank_of_group]; }
};

/// (a,b), or (a,b) and (a,a), up to three times in a round. All of them go over one exchange, so that the next ones say that
/// everybody has read the last ones: each has a vector of its own. Two commands each: one reads the rank's share of a and b,
/// and sends 16 B for each of its blocks to the others of the group; one adds them all up. Holds 48 B for each block, and
/// tables of 4 B for each block and tile.
class SharedDots {
 public:
  /// Collective; outside of recordings. `deal` must outlive it.
  SharedDots(Rank& rank, const Deal& deal);
  SharedDots(const SharedDots&) = delete;  // vectors know its exchange by address

  /// `which` of the three. `sums`: one scalar or two.
  template <class... S>
  void record(Rank& rank, int which, Vec a, Vec b, S... sums) const {
    constexpr int values = sizeof...(S);
    const Vec parts = parts_[which];
    rank.run_split(PartDots{blocks_, values, deal_.rows_of(me_), a, b, parts}, own_, push(parts));
    rank.run_over(all_blocks_, AddParts<values>{deal_.blocks(), parts}, start(sums...));
  }

 private:
  const Deal& deal_;
  std::size_t me_;
  EngineMemory memory_;
  Blocks blocks_;
  Exchange exchange_;
  Split own_;
  Vec parts_[3];
  int all_blocks_;  // a space
};

}  // namespace sordino::whole_vectors
