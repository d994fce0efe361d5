// Instantiates a kernel for every functor and exit test that registered code records.
#include "sordino/api/cuda/engines.hpp"
#include "sordino/linalg/csr_rows.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/solvers/driver_steps.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino::cuda {
namespace {

template <class... M>
void enable_methods(MethodList<M...>) {
  (enable(typename M::kernels{}), ...);
}

}  // namespace

void enable_kernels() {
  static const bool once = [] {
    enable_methods(Methods{});
    enable(DriverKernels{});
    enable(AppliedKernels<SellRows>{});
    enable(KernelList<Kernel<RowPair<SellRows>>>{});
    enable(AppliedKernels<CsrRows<4>>{});
    enable(AppliedKernels<CsrRows<32>>{});
    return true;
  }();
  (void)once;
}

}  // namespace sordino::cuda
