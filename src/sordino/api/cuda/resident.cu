// Kernels that stay, one for each method and layout of a matrix: its loop's commands in one launch.
#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/cuda/registered.cuh"

namespace sordino::cuda {
namespace {

/// What a loop may have besides the method's own commands.
using CommonCommands = KernelList<Kernel<Nothing>, Kernel<WaitFor>, Kernel<Dots<1>>, Kernel<KeepBest>, Kernel<LowerBest>>;

template <class M, class Rows>
auto products() {
  if constexpr (M::applies_pairs)
    return KernelList<Kernel<RowPair<Rows>>>{};
  else
    return KernelList<Kernel<Applied<Rows, 0>>, Kernel<Applied<Rows, 1>>, Kernel<Applied<Rows, 2>>, Kernel<Applied<Rows, 3>>>{};
}

template <class M, class Rows>
void enable_loop() {
  enable_resident(decltype(joined(typename M::kernels{}, products<M, Rows>(), CommonCommands{})){});
}

template <class... M>
void enable_loops(MethodList<M...>) {
  (enable_loop<M, SellRows>(), ...);
  (enable_loop<M, CsrRows<4>>(), ...);
}

}  // namespace

void enable_resident_loops() { enable_loops(Methods{}); }

}  // namespace sordino::cuda
