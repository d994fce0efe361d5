// The kernel of passes of 16 or 32 columns of doubles on the way forward, to be launched on each rank of a team whose GPUs
// multiply doubles by tensor cores (compute capability 8 and more).
#pragma once
#include "sordino/trsv/cuda/solve_kernel.hpp"

namespace sordino::trsv {

/// b, rows of which are so many values apart, how many columns of them there are, the order of the columns, how many there are,
/// and where they go: [n][columns of the pass].
using WideGatherKernel = void (*)(const double*, i64, int, const i32*, i64, double*);

/// Puts a pass's columns of b in the order of the blocks, a number a thread; columns that there are not are zeros.
WideGatherKernel wide_gather_kernel(int columns);
/// For passes of 16 or 32 columns, as solve_kernel(). It goes by a plan of long tasks (with_long_tasks()), whose numbers are
/// there when flags say so.
SolveKernel<double> wide_kernel(int columns);
/// Bytes of dynamic shared memory that a block needs.
i64 wide_shared(const SolveShape& shape, int columns);

}  // namespace sordino::trsv
