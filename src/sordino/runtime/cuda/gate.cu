#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/gate.hpp"
#include "sordino/runtime/cuda/memory.cuh"

namespace sordino::cuda {
namespace {

__device__ bool has_ended(const GateArgs& g, i32 iteration) {
  u32 halt = load_relaxed(&g.control->halt);
  if (g.in_order) return halt != 0;
  return iteration >= g.control->max_iterations || is_from(place_in_order(iteration, g.commands, g.command), halt);
}

__global__ void gate(const __grid_constant__ GateArgs g) {
  cudaGraphSetConditional(g.go, !has_ended(g, g.control->first_iteration + g.iteration));
}

__global__ void note(const __grid_constant__ GateArgs g, TaskNote what) {
  i32 iteration = g.control->first_iteration + g.iteration;
  i64 place = i64(iteration) * g.commands + g.command;
  if (place >= g.n_stamps || has_ended(g, iteration)) return;
  (what == TaskNote::begin ? g.stamps[place].begin : g.stamps[place].end) = nanoseconds();
}

template <class... Parameters, class... Arguments>
void launch_one_thread(void (*kernel)(Parameters...), cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace

void prepare_gate() {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, gate));
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, note));
}

void launch_gate(const GateArgs& args, cudaStream_t stream) { launch_one_thread(gate, stream, args); }

void launch_note(const GateArgs& args, TaskNote what, cudaStream_t stream) { launch_one_thread(note, stream, args, what); }

}  // namespace sordino::cuda
