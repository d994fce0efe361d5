// A graph of what a rank puts into its stream, to be launched again and again.
#pragma once
#include "sordino/runtime/cuda/capture.hpp"

namespace sordino::cuda {

class Replayed {
 public:
  /// `issue` puts the work into the stream; nothing runs before launch().
  template <class Issue>
  Replayed(cudaStream_t stream, const Issue& issue) : stream_(stream) {
    cudaGraph_t graph = captured(stream, nullptr, issue);
    cudaError_t made = cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    call("cudaGraphInstantiate", made);
    call("cudaGraphUpload", cudaGraphUpload(exec_, stream));
  }
  ~Replayed() { cudaGraphExecDestroy(exec_); }
  Replayed(const Replayed&) = delete;
  void launch() { call("cudaGraphLaunch", cudaGraphLaunch(exec_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace sordino::cuda
