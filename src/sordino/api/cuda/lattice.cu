#include "sordino/api/cuda/engines.hpp"
#include "sordino/lattice/dslash_rows.hpp"
#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {

void enable_lattice_kernels() {
  enable(lattice::DoubleDslashKernels<18>{});
  enable(lattice::DoubleDslashKernels<12>{});
  enable(lattice::SingleDslashKernels<18>{});
  enable(lattice::SingleDslashKernels<12>{});
}

}  // namespace sordino::cuda
