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

/// The loop of every method that stays, where the matrix is stored as Rows.
template <class Rows, class... M>
void enable_resident_loops(MethodList<M...>) {
  auto enable_one = []<class Method>(std::type_identity<Method>) {
    if constexpr (Method::stays)
      enable_resident(decltype(joined(typename Method::kernels{}, products<Method, Rows>(), CommonCommands{})){});
  };
  (enable_one(std::type_identity<M>{}), ...);
}

}  // namespace sordino::cuda
