// The kernel of a substitution by levels, to be launched on each rank of a team.
#pragma once
#include "sordino/trsv/cuda/level_tables.hpp"

namespace sordino::trsv {

template <class V>
using LevelKernel = void (*)(cuda::DeviceTeam, LevelTables<V>, LevelPass<V>);

/// For passes of 1, 2, 4 or 8 columns. Its blocks have level_threads threads; any number of them will do.
template <class V>
LevelKernel<V> level_kernel(int columns);
inline constexpr int level_threads = 128, level_warps = level_threads / 32;

/// Blocks that take part on each multiprocessor, if there is room: enough to have the next levels' rows at hand, and no more,
/// for all of them poll.
inline constexpr int level_blocks_at_once = 4;

}  // namespace sordino::trsv
