// Which sums are added up behind work. The blocks of a command that starts a reduction hand in their sums, and its last block
// adds and sends them: the next command begins when that has been done, so nothing hides it. Where the next one needs none of
// these sums, it has a block more, which does so while the others compute (collect.cuh).
#pragma once
#include <vector>

#include "sordino/runtime/contains.hpp"

namespace sordino::cuda {

/// A launch, as far as that depends on it.
struct Stage {
  int starts = -1;                 // the slot of the reduction that it starts; -1: none
  std::vector<int> finishes = {};  // slots
  int blocks = 1;                  // a single one has nothing to add
  bool always = true;              // in each iteration
  bool can_collect = false;        // there is such a kernel, and place in the grid
};

/// The launch behind the n-th one; behind the last one of a loop comes the first one.
inline std::size_t behind(std::size_t n, std::size_t count) { return n + 1 < count ? n + 1 : 0; }

/// [launch] whether it hands its sums on to the one behind it, wherever both are issued together. All are of one stream, in
/// the order of `stages`. Who finishes these sums stands behind both then: in a loop there is another start between the end of
/// one and its next.
inline std::vector<bool> who_hands_on(const std::vector<Stage>& stages, bool is_loop) {
  std::vector<bool> hands_on(stages.size(), false);
  for (std::size_t n = 0; n < stages.size(); n++) {
    const std::size_t next = behind(n, stages.size());
    if (next == n || (next == 0 && !is_loop)) continue;
    const Stage &from = stages[n], &to = stages[next];
    hands_on[n] = from.starts >= 0 && from.blocks > 1 && from.always && to.always && to.can_collect &&
                  !contains(to.finishes, from.starts);
  }
  return hands_on;
}

}  // namespace sordino::cuda
