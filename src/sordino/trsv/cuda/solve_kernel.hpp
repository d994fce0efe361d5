// The kernel of a triangular solve, to be launched on each rank of a team.
#pragma once
#include "sordino/trsv/cuda/solve_tables.hpp"

namespace sordino::trsv {

template <class V>
using SolveKernel = void (*)(cuda::DeviceTeam, SolveTables<V>, SolvePass<V>);

/// b, rows of which are so many values apart, the order of the columns, how many there are, and where they go: [n][columns].
template <class V>
using GatherKernel = void (*)(const V*, i64, const i32*, i64, V*);

/// Puts a pass's columns of b in the order of the blocks, one a thread.
template <class V>
GatherKernel<V> gather_kernel(int columns);
/// For passes of so many columns. Its blocks have solve_threads() threads; any number of them will do.
template <class V>
SolveKernel<V> solve_kernel(Direction direction, int columns);
int solve_threads();
/// Small blocks that a task of subtrees may have, rows that one of strips may on the way forward, and columns.
i32 most_blocks_of_subtrees();
i32 most_rows_of_strips();
i32 most_columns_of_closing();
/// Numbers of a column of b that the threads of a block have at once for a block's columns, if these are fewer.
i32 worker_numbers();

/// What a thread block keeps of a rank's largest tasks.
struct SolveShape {
  i32 buffer_bytes = 0;
  i32 operands = 0;  // columns; on the way back rows, or columns twice and rows outside of subtrees
  i32 products = 0;  // rows of strips, or columns and slots of subtrees; on the way back columns, or one a thread
  i32 columns = 0;   // of long strips, in wide passes, where operands and products are those of subtrees
};
/// Bytes of dynamic shared memory that a block needs.
template <class V>
i64 solve_shared(const SolveShape& shape, int columns) {
  return i64(shape.buffer_bytes) + (i64(shape.operands) + shape.products) * columns * i64(sizeof(V));
}

/// Values that stand for a factor's where only time matters: the k-th, from `first` on, is a function of its number.
template <class V>
void start_invented_values(V* values, i64 first, i64 count, cudaStream_t stream);

}  // namespace sordino::trsv
