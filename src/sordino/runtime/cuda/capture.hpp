// What is put into a stream, as a CUDA graph.
#pragma once
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {

/// What `work` puts into the stream becomes nodes of `body`, or, if that is null, of a graph of its own, which the caller
/// destroys. Nothing runs. Of this thread alone it is asked to make no call that a capture forbids.
template <class Work>
cudaGraph_t captured(cudaStream_t stream, cudaGraph_t body, const Work& work) {
  constexpr auto mode = cudaStreamCaptureModeThreadLocal;
  if (body)
    call("cudaStreamBeginCaptureToGraph", cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, mode));
  else
    call("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, mode));
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph && !body) cudaGraphDestroy(graph);
    throw;
  }
  call("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
  return graph;
}

}  // namespace sordino::cuda
