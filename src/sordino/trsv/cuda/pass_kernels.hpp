// Which kernel a pass of a triangular solve has, by its columns and what is solved for.
#pragma once
#include <algorithm>
#include <type_traits>

#include "sordino/trsv/cuda/passes.hpp"
#include "sordino/trsv/cuda/wide_kernel.hpp"

namespace sordino::trsv {

/// Thread blocks of a GPU in a wide pass, two on each multiprocessor of an H100.
inline constexpr int workers_of_wide_pass = 264;

/// Whether the device multiplies doubles by tensor cores. One that is not there does not: whoever makes the team tells of it.
inline bool multiplies_by_tensor_cores(int device) {
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) cudaGetLastError();
  return major >= 8;
}
/// Whether wide passes are made: of doubles, by tensor cores of all ranks' GPUs, on the way forward.
template <class V>
bool has_wide_passes(const Plan* forward, const GpuOptions& options) {
  if (!std::is_same_v<V, double> || !forward || options.most_columns <= most_columns_of_pass) return false;
  std::vector<int> devices = options.devices;
  for (int r = 0; options.devices.empty() && r < forward->ranks; r++) devices.push_back(r);
  return std::all_of(devices.begin(), devices.end(), multiplies_by_tensor_cores);
}
/// What wide passes go by, if there are any.
inline Plan plan_of_wide_passes(bool has_wide, const Blocks& blocks, const Plan* forward, const GpuOptions& options) {
  if (!has_wide) return {};
  return with_long_tasks(blocks, *forward, sizeof(double),
                         {.workers = workers_of_wide_pass, .task_bytes = options.long_task_bytes});
}

template <class V>
SolveKernel<V> kernel_of_pass(Direction direction, int columns) {
  if constexpr (std::is_same_v<V, double>)
    if (columns > most_columns_of_pass) return wide_kernel(columns);
  return solve_kernel<V>(direction, columns);
}
/// Bytes of dynamic shared memory that a block needs.
template <class V>
i64 shared_of_pass(const SolveShape& shape, int columns) {
  return columns > most_columns_of_pass ? wide_shared(shape, columns) : solve_shared<V>(shape, columns);
}

}  // namespace sordino::trsv
