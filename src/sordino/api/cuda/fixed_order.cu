#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/cuda/registered.cuh"

namespace sordino::cuda {

void enable_fixed_order_kernels() { enable_registered<SumOrder::fixed>(); }

}  // namespace sordino::cuda
