#include "sordino/runtime/cuda/mark.hpp"

#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {
namespace {

constexpr int mark_threads = 128;

__global__ void __launch_bounds__(mark_threads) mark(const __grid_constant__ MarkArgs m) {
  int t = threadIdx.x;
  Control& c = m.device->control;
  u32 number = c.marks + 1, next = c.history_next;
  u32 stop = t == 0 ? load_relaxed(&m.window->stop) : 0;  // across the bus: on its way meanwhile
  Window::Report& report = m.window->report[number & 1];
  static_assert(sizeof(Control) % 4 == 0);
  const u32* from = reinterpret_cast<const u32*>(&c);
  u32* to = reinterpret_cast<u32*>(&report.control);
  for (int i = t; i < int(sizeof(Control) / 4); i += mark_threads) to[i] = from[i];
  for (int i = t; i < m.n_scalars; i += mark_threads) report.scalars[i] = m.device->scalars[i];
  for (u32 i = t; i < m.tests; i += mark_threads) {
    u32 at = (next + m.first_test + i) & m.history_mask;
    m.history_copy[at] = m.history[at];
  }
  if (m.increments) {
    for (int i = t; i < m.n_epochs; i += mark_threads) m.device->epochs[i] += m.increments[i];
  }
  __syncthreads();
  if (t != 0) return;
  report.now = nanoseconds();
  c.marks = number;
  c.stop = stop;
  m.device->meeting.before = m.device->meeting.arrived;
  if (m.increments) {
    c.first_iteration += m.iterations;
    c.history_next = next + m.tests;
  }
  fence_system();
  m.engine->beats[m.rank].device = number;
  store_relaxed(&m.window->marks, number);
  if (!m.repeats) return;
  bool again = load_relaxed(&c.halt) == 0 && c.first_iteration < c.max_iterations;
  cudaGraphSetConditional(m.again, again);
  if (!again) store_relaxed(&m.window->ended, number);
}

}  // namespace

void launch_mark(const MarkArgs& args, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(mark_threads);
  config.stream = stream;
  call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, mark, args));
}

void enable_common() {
  static const bool once = [] {
    enable(CommonKernels{});
    enable_fixed_order();
    return true;
  }();
  (void)once;
}

void prepare_kernels() {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, mark));
  enable_common();
}

}  // namespace sordino::cuda
