// Streams of callers that are captured into a graph.
#pragma once
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {

/// Throws `unsupported` for one: what is started in a caller's stream counts on from call to call, and a replay would not.
/// Before anything else is done: most calls are illegal then, and end the caller's capture.
inline void refuse_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  call("cudaStreamIsCapturing", cudaStreamIsCapturing(stream, &status));
  if (status != cudaStreamCaptureStatusNone)
    throw Error(Errc::unsupported,
                "this stream is captured into a graph, and what is started in it counts on from call to call");
}

}  // namespace sordino::cuda
