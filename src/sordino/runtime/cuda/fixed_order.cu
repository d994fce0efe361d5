// The kernels of any program, with sums in fixed order.
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/mark.hpp"

namespace sordino::cuda {

void enable_fixed_order() { enable<SumOrder::fixed>(CommonKernels{}); }

}  // namespace sordino::cuda
