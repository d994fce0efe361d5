// What a setup on a GPU is made of: kernels for so many numbers, steps of cub, and messages to the host, all in one stream.
#pragma once
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/reserve.hpp"

namespace sordino::cuda {

inline __device__ i64 my_number() { return i64(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Of the current device, which stays so. Who frees what a lost GPU uses would wait for ever.
class Workbench {
 public:
  /// `what` it makes, for errors: "trees of an H-matrix".
  Workbench(int device, std::string what) : device_(device), what_(std::move(what)) {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Workbench() { cudaStreamDestroy(stream_); }
  Workbench(const Workbench&) = delete;

  cudaStream_t stream() const { return stream_; }
  bool is_lost() const { return is_lost_; }  // it has not answered

  static i64 blocks_for(i64 count) { return (count + threads - 1) / threads; }
  /// A thread for each of `count` numbers, one at least.
  template <class... Arguments>
  void start(const char* name, void (*kernel)(Arguments...), i64 count, std::type_identity_t<Arguments>... arguments) {
    kernel<<<unsigned(blocks_for(count)), threads, 0, stream_>>>(arguments...);
    call(name, cudaGetLastError());
  }
  /// So many blocks, whose threads share the numbers out among themselves.
  template <class... Arguments>
  void start_blocks(const char* name, void (*kernel)(Arguments...), i64 blocks, std::type_identity_t<Arguments>... arguments) {
    kernel<<<unsigned(blocks), threads, 0, stream_>>>(arguments...);
    call(name, cudaGetLastError());
  }
  template <class T>
  void copy(T* to, const T* from, i64 count, cudaMemcpyKind kind) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, std::size_t(count) * sizeof(T), kind, stream_));
  }
  /// What the device is done with.
  template <class T>
  void fetch(T* to, const T* from, i64 count) {
    copy(to, from, count, cudaMemcpyDeviceToHost);
  }
  void clear(void* array, int byte, i64 bytes) {
    call("cudaMemsetAsync", cudaMemsetAsync(array, byte, std::size_t(bytes), stream_));
  }

  void wait() {
    const double end = seconds_now() + most_silence;
    for (; !is_ready("cudaStreamQuery", cudaStreamQuery(stream_)); std::this_thread::yield())
      if (seconds_now() > end) {
        is_lost_ = true;
        throw Error(Errc::device, "GPU " + std::to_string(device_) + " makes " + what_ + " and has not answered for " +
                                      std::to_string(int(most_silence)) + " s");
      }
  }
  /// A message of the device, which is waited for.
  template <class T>
  T heard(Message<T>& message) {
    message.bring(1, stream_);
    wait();
    return *message.here.data();
  }

  /// Room for so many, of which none is needed any more once the device is idle: what the driver frees it waits for, without a
  /// limit, so this waits before.
  template <class T>
  T* room(DeviceArrayOf<T>& array, i64 count) {
    if (!array.holds(count)) wait();
    return array.take(count);
  }
  /// With room for `more` behind `kept`: zeros, for copies take what pads a structure, too.
  template <class T>
  T* extended(DeviceArrayOf<T>& array, i64 kept, i64 more) {
    if (!array.holds(kept + more)) wait();
    T* const all = array.extend(kept + more, kept, stream_);
    clear(all + kept, 0, more * i64(sizeof(T)));
    return all;
  }

  /// A step of cub: asked for the bytes that it wants, then made with them.
  template <class Step>
  void with_space(const char* name, const Step& step) {
    std::size_t bytes = 0;
    call(name, step(nullptr, bytes));
    call(name, step(room(space_, i64(bytes)), bytes));
  }
  /// How much is before each of so many; `before` may be `of`.
  template <class T>
  void scan(const T* of, T* before, i64 count) {
    with_space("cub::DeviceScan", [&](void* space, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(space, bytes, of, before, count, stream_);
    });
  }
  /// By the lowest bits of keys. What has the same key stays in its order.
  template <class Key, class T>
  void sort(cub::DoubleBuffer<Key>& keys, cub::DoubleBuffer<T>& values, i64 count, int bits) {
    with_space("cub::DeviceRadixSort", [&](void* space, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(space, bytes, keys, values, count, 0, bits, stream_);
    });
  }

 private:
  static constexpr int threads = 256;

  int device_;
  std::string what_;
  bool is_lost_ = false;
  cudaStream_t stream_ = nullptr;
  DeviceArrayOf<char> space_;
};

/// make(*maker), where the maker is of a class that has a Workbench. Of a GPU that is lost, all that it uses is left.
template <class Maker, class Make>
auto with_maker(std::unique_ptr<Maker>& maker, const Make& make) {
  try {
    return make(*maker);
  } catch (const Error&) {
    if (maker->is_lost()) static_cast<void>(maker.release());
    throw;
  }
}

}  // namespace sordino::cuda
