// Rows that many threads compute together: a functor that says `by_blocks` has row(i, threads), where `threads` are all of a
// block on a GPU (runtime/cuda/whole_block.cuh), and one on a CPU. Warp w of `warps` takes every `warps`-th part of a row, its
// lane l every `lanes`-th word of that, and sum() adds what they have. One that says `sends_rows`, too, is called with rows of
// vectors that its command may push: thread 0 has stored the row when it returns.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

struct OneThread {
  static constexpr int lanes = 1, warps = 1;
  static constexpr int lane = 0, warp = 0;

  /// store(i, sum of all threads' s[i]) for each i < count: of the threads of a warp, or of the block. All of them call it.
  template <int M, class Store>
  SORDINO_HD void sum(double (&s)[M], i32 count, bool of_block, const Store& store) const {
    (void)of_block;
    for (i32 i = 0; i < count; i++) store(i, s[i]);
  }
};

/// Whether all threads of a block compute a row of this functor together.
template <class F>
inline constexpr bool works_by_blocks = requires { F::by_blocks; };
/// Whether that is a row which others may be waiting for.
template <class F>
inline constexpr bool sends_rows = requires { F::sends_rows; };

}  // namespace sordino
