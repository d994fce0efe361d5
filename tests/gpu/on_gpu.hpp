// Callers of solvers whose arrays are in memory of GPUs.
#pragma once
#include <random>
#include <utility>
#include <vector>

#include "sordino/runtime/cuda/call.hpp"
#include "support.hpp"

namespace test {

/// An array in memory of a GPU.
template <class T>
class OnGpu {
 public:
  explicit OnGpu(const std::vector<T>& values, int device = 0) : count_(values.size()), device_(device) {
    sordino::cuda::OnDevice on(device);
    sordino::cuda::call("cudaMalloc", cudaMalloc(&words_, count_ * sizeof(T)));
    sordino::cuda::call("cudaMemcpy", cudaMemcpy(words_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~OnGpu() {
    sordino::cuda::OnDevice on(device_);
    cudaFree(words_);
  }
  OnGpu(const OnGpu&) = delete;

  T* get() const { return words_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    sordino::cuda::OnDevice on(device_);
    sordino::cuda::call("cudaMemcpy", cudaMemcpy(values.data(), words_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* words_ = nullptr;
  std::size_t count_;
  int device_;
};

/// A stream that does not wait for the legacy default stream, nor that for it.
class SideStream {
 public:
  explicit SideStream(int device = 0) : device_(device) {
    sordino::cuda::OnDevice on(device);
    sordino::cuda::call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~SideStream() {
    sordino::cuda::OnDevice on(device_);
    cudaStreamDestroy(stream_);
  }
  SideStream(const SideStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  int device_;
};

/// Keeps a stream of the current device busy for a while.
void keep_busy(cudaStream_t stream, double seconds);  // device_vectors.cu

inline std::vector<double> random_vector(sordino::i64 n, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& value : v) value = normal(generator);
  return v;
}

inline int current_device() {
  int device = -1;
  sordino::cuda::call("cudaGetDevice", cudaGetDevice(&device));
  return device;
}

}  // namespace test
