// Which commands a GPU must be able to run. A solver's or operator's header lists its functors here, without a word of CUDA;
// one .cu file at the top of the library turns the lists into kernels (runtime/cuda/enable.cuh).
#pragma once

namespace sordino {

/// Stands for "no exit test".
struct NoTest {};

/// A functor, and the exit test that joins its command's head.
template <class Functor, class Test = NoTest>
struct Kernel {};

/// using kernels = KernelList<Kernel<Begin>, Kernel<Update>, Kernel<Direction, Converged>>;
template <class... Kernels>
struct KernelList {};

/// All of them. (Never called; decltype of it is a list.)
template <class... A>
KernelList<A...> joined(KernelList<A...>);
template <class... A, class... B, class... Lists>
auto joined(KernelList<A...>, KernelList<B...>, Lists... lists) {
  return joined(KernelList<A..., B...>{}, lists...);
}

}  // namespace sordino
