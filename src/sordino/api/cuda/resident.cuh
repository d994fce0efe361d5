// Kernels that stay: a method's whole loop in one launch, one for each method and layout of a matrix. They are large, so each
// layout has a file of its own (resident_*.cu), and the files are compiled beside each other.
#pragma once
#include "sordino/api/cuda/registered.cuh"

namespace sordino::cuda {

/// What a loop may have besides the method's own commands.
using CommonCommands = KernelList<Kernel<Nothing>, Kernel<WaitFor>, Kernel<Dots<1>>, Kernel<KeepBest>, Kernel<LowerBest>>;

template <class M, class Rows>
auto products() {
  if constexpr (M::applies_pairs)
    return KernelList<Kernel<RowPair<Rows>>>{};
  else
    return KernelList<Kernel<Applied<Rows, 0>>, Kernel<Applied<Rows, 1>>, Kernel<Applied<Rows, 2>>, Kernel<Applied<Rows, 3>>>{};
}

/// Every method's loop, where the matrix is stored as Rows.
template <class Rows, class... M>
void enable_resident_loops(MethodList<M...>) {
  (enable_resident(decltype(joined(typename M::kernels{}, products<M, Rows>(), CommonCommands{})){}), ...);
}

}  // namespace sordino::cuda
