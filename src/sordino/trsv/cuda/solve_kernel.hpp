// The kernel of a triangular solve, to be launched on each rank of a team.
#pragma once
#include "sordino/trsv/cuda/solve_tables.hpp"

namespace sordino::trsv {

template <class V>
using SolveKernel = void (*)(cuda::DeviceTeam, SolveTables<V>, SolvePass<V>);

/// For passes of so many columns. Its blocks have solve_threads() threads; any number of them will do.
template <class V>
SolveKernel<V> solve_kernel(Direction direction, int columns);
int solve_threads();
/// Small blocks that a task of subtrees may have, and rows that one of strips may.
i32 most_blocks_of_subtrees();
i32 most_rows_of_strips();

/// What a thread block keeps of a rank's largest tasks.
struct SolveShape {
  i32 buffer_bytes = 0;
  i32 operands = 0;  // columns
  i32 products = 0;  // rows of strips, or columns and slots of subtrees
};
/// Bytes of dynamic shared memory that a block needs.
template <class V>
i64 solve_shared(Direction direction, const SolveShape& shape, int columns);

/// Values that stand for a factor's where only time matters: the k-th, from `first` on, is a function of its number.
template <class V>
void start_invented_values(V* values, i64 first, i64 count, cudaStream_t stream);

}  // namespace sordino::trsv
