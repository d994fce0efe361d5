#include "sordino/runtime/cuda/reserve.hpp"

#include <string>
#include <utility>

#include "sordino/base/range.hpp"

namespace sordino::cuda {

void Reserve::free() {
  if (!data_) return;
  Range range("free memory of a setup");
  where_ == Where::device ? cudaFree(data_) : cudaFreeHost(data_);
  data_ = nullptr;
  bytes_ = 0;
}

void* Reserve::take(i64 bytes) {
  if (bytes <= bytes_) return data_;
  free();
  Range range("take memory for a setup");
  const std::size_t wanted = std::size_t(bytes);
  const cudaError_t e = where_ == Where::device ? cudaMalloc(&data_, wanted) : cudaHostAlloc(&data_, wanted, 0);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(Errc::unsupported, "the GPU has too little memory for what is made there: " + std::to_string(bytes) +
                                       " bytes more are needed; engine='host' needs none");
  }
  call("cudaMalloc", e);
  bytes_ = bytes;
  return data_;
}

void* Reserve::extend(i64 bytes, i64 kept, cudaStream_t stream) {
  if (bytes <= bytes_) return data_;
  Reserve larger(where_);
  larger.take(std::max(bytes, 2 * bytes_));
  if (kept > 0)
    call("cudaMemcpyAsync", cudaMemcpyAsync(larger.data_, data_, std::size_t(kept), cudaMemcpyDeviceToDevice, stream));
  std::swap(data_, larger.data_);
  std::swap(bytes_, larger.bytes_);
  return data_;  // freeing what it was waits for the copy
}

bool is_ready(const char* name, cudaError_t found) {
  if (found != cudaErrorNotReady) call(name, found);
  return found == cudaSuccess;
}

}  // namespace sordino::cuda
