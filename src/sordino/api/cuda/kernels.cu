#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/cuda/registered.cuh"

namespace sordino::cuda {

void enable_kernels() {
  static const bool once = [] {
    enable_registered<SumOrder::grid>();
    enable_resident_sell();
    enable_resident_csr();
    enable_lattice_kernels();
    enable_fixed_order_kernels();
    return true;
  }();
  (void)once;
}

}  // namespace sordino::cuda
