#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/gate.hpp"
#include "sordino/runtime/cuda/memory.cuh"

namespace sordino::cuda {
namespace {

__global__ void gate(const __grid_constant__ GateArgs g) {
  i32 iteration = g.control->first_iteration + g.iteration;
  u32 halt = load_relaxed(&g.control->halt);
  bool halted = g.in_order
                    ? halt != 0
                    : iteration >= g.control->max_iterations || is_from(place_in_order(iteration, g.commands, g.command), halt);
  cudaGraphSetConditional(g.go, !halted);
}

}  // namespace

void prepare_gate() {
  cudaFuncAttributes attributes;
  call("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, gate));
}

void launch_gate(const GateArgs& args, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  call("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, gate, args));
}

}  // namespace sordino::cuda
