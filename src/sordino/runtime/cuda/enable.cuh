// enable(KernelList<...>{}) makes commands run on a GPU: it instantiates the generic kernel for each functor and exit test.
// Include it in a .cu file only. enable<SumOrder::fixed>() does so for deterministic engines; compile that file with
// -fmad=false.
#pragma once
#include <tuple>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/collect.cuh"
#include "sordino/runtime/cuda/resident.cuh"
#include "sordino/runtime/cuda/table.hpp"

namespace sordino::cuda {
namespace detail {

// Replaces the handles in a functor's fields by addresses. A struct, since a lambda may not be called from device code and
// each_field() is compiled for both.
struct BindFields {
  const Binding* binding;
  template <class X>
  __host__ __device__ void operator()(X& x) const {
#ifndef __CUDA_ARCH__
    if constexpr (sordino::detail::VectorField<X>)
      x.p = x.id < 0 ? nullptr : reinterpret_cast<decltype(x.p)>(binding->vector(x.id));
    if constexpr (requires { x.n_segments; })
      if (x.id >= 0) std::tie(x.segments, x.n_segments) = binding->segments(x.id);
    if constexpr (std::is_same_v<X, Get>) x.id = x.id < 0 ? -1 : binding->get(x.id);
    if constexpr (std::is_same_v<X, Put>) x.id = x.id < 0 ? -1 : binding->put(x.id);
#endif
  }
};

template <class X>
X bound(const void* bytes, const Binding& binding) {
  X x = bytes ? *static_cast<const X*>(bytes) : X{};
  if constexpr (!std::is_same_v<X, NoTest>) each_field(x, BindFields{&binding});
  return x;
}

template <SumOrder order, class F, class T>
class LaunchOf final : public Launchable {
 public:
  LaunchOf(const F& f, const T& t) : functor_(f), test_(t) {}

  void launch(const Args& args, int blocks, cudaStream_t stream, bool chained, const CollectArgs* collect) const override {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(unsigned(collect ? blocks + 1 : blocks));
    config.blockDim = dim3(block_threads);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = chained ? 1 : 0;
    if constexpr (may_collect<F, T, order>())
      if (collect)
        return call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, collecting_command<F>, functor_, args, *collect));
    call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, command<F, T, order>, functor_, test_, args));
  }
  void write_step(void* to, const StepHead& head) const override { new (to) Step<F, T>{head, functor_, test_}; }

 private:
  F functor_;
  T test_;
};

template <class... P>
int blocks_that_fit(void (*kernel)(P...)) {
  int blocks = 0;
  call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
       cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads, 0));
  return blocks;
}

template <SumOrder order, class F, class T>
void enable_one(Kernel<F, T>) {
  static_assert(sums_of<F> <= most_values, "a row returns more sums than a reduction takes");
  Entry e;
  e.threads_a_row = threads_a_row<F, order>();
  e.bind = [](const void* functor, const void* test, const Binding& binding) -> std::unique_ptr<Launchable> {
    return std::make_unique<LaunchOf<order, F, T>>(bound<F>(functor, binding), bound<T>(test, binding));
  };
  e.blocks_per_multiprocessor = [] { return blocks_that_fit(command<F, T, order>); };
  if constexpr (may_collect<F, T, order>())
    e.collecting_blocks_per_multiprocessor = [] { return blocks_that_fit(collecting_command<F>); };
  if (!find_kernel(typeid(F), typeid(T), order)) set_kernel(typeid(F), typeid(T), order, e);
}

template <SumOrder order, class F, class T>
void enable_with_test(Kernel<F, T>) {
  // An exit test can always be taken off a command and put before it; sums in fixed order end in a launch before it anyway.
  if constexpr (order == SumOrder::fixed)
    enable_one<order>(Kernel<F>{});
  else
    enable_one<order>(Kernel<F, T>{});
  if constexpr (!std::is_same_v<T, NoTest>) enable_one<order>(Kernel<Nothing, T>{});
}

template <class... F, class... T>
void enable_resident(KernelList<Kernel<F, T>...>) {
  ResidentEntry e;
  e.kinds = {{typeid(F), typeid(T)}...};
  e.step_bytes = step_bytes<Kernel<F, T>...>;
  e.launch = [](const ResidentArgs& args, int blocks, cudaStream_t stream) {
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(unsigned(blocks));
    config.blockDim = dim3(block_threads);
    config.stream = stream;
    config.attrs = &together;
    config.numAttrs = 1;
    call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, resident<Kernel<F, T>...>, args));
  };
  e.blocks_per_multiprocessor = [] { return blocks_that_fit(resident<Kernel<F, T>...>); };
  add_resident(e);
}

}  // namespace detail

template <SumOrder order = SumOrder::grid, class... Kernels>
void enable(KernelList<Kernels...>) {
  (detail::enable_with_test<order>(Kernels{}), ...);
}

/// Besides, loops of these commands, which must have been enabled, can be run by one kernel that stays (resident.cuh).
template <class... Kernels>
void enable_resident(KernelList<Kernels...> kernels) {
  detail::enable_resident(kernels);
}

}  // namespace sordino::cuda
