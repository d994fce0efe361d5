// The kernel of a triangular solve, to be launched on each rank of a team.
#pragma once
#include "sordino/trsv/cuda/solve_tables.hpp"

namespace sordino::trsv {

/// How many columns of b a pass can have: 1, 2, 4 or 8.
inline constexpr int most_columns_of_pass = 8;

template <class V>
using SolveKernel = void (*)(cuda::DeviceTeam, SolveTables<V>, SolvePass<V>);

/// For passes of so many columns. Its blocks have worker_threads() threads; any number of them will do.
template <class V>
SolveKernel<V> solve_kernel(Direction direction, int columns);
int solve_threads();
/// Bytes of dynamic shared memory that a block needs.
template <class V>
int solve_shared(i32 width, i32 small_width, int columns);
/// Small blocks that a task of subtrees may have.
i32 most_blocks_of_subtrees();

/// Values that stand for a factor's where only time matters: the k-th, from `first` on, is a function of its number.
template <class V>
void start_invented_values(V* values, i64 first, i64 count, cudaStream_t stream);

}  // namespace sordino::trsv
