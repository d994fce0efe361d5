// Memory of a GPU, and of the host for what goes there and comes back, that setups use again and again.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>

#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {

/// Memory of the current device, or pinned memory of the host, which grows and forgets.
class Reserve {
 public:
  enum class Where { device, pinned };
  explicit Reserve(Where where) : where_(where) {}
  ~Reserve() { free(); }
  Reserve(const Reserve&) = delete;
  /// At least so many bytes; nothing that uses the memory may be under way. Throws `unsupported` where there are too few.
  void* take(i64 bytes);
  /// The same, and the first `kept` bytes stay; at least twice what there was. Of a device; copies in the stream.
  void* extend(i64 bytes, i64 kept, cudaStream_t stream);
  void* data() const { return data_; }
  bool holds(i64 bytes) const { return bytes <= bytes_; }

 private:
  void free();
  Where where_;
  i64 bytes_ = 0;
  void* data_ = nullptr;
};

template <class T, Reserve::Where where>
struct ArrayIn {
  static constexpr i64 bytes = sizeof(T);
  Reserve memory{where};
  T* data() const { return static_cast<T*>(memory.data()); }
  bool holds(i64 count) const { return memory.holds(count * bytes); }
  T* take(i64 count) { return static_cast<T*>(memory.take(count * bytes)); }
  T* extend(i64 count, i64 kept, cudaStream_t stream) {
    return static_cast<T*>(memory.extend(count * bytes, kept * bytes, stream));
  }
};
template <class T>
using DeviceArrayOf = ArrayIn<T, Reserve::Where::device>;
template <class T>
using PinnedArrayOf = ArrayIn<T, Reserve::Where::pinned>;

/// What the host tells the device or is told by it, batch after batch. Pinned here, or a copy would wait for the device in the
/// driver, for as long as that takes.
template <class T>
struct Message {
  DeviceArrayOf<T> there;
  PinnedArrayOf<T> here;

  /// The last one has been read.
  void send(std::span<const T> words, cudaStream_t stream) {
    T* const from = here.take(i64(words.size()));
    std::copy(words.begin(), words.end(), from);
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(there.take(i64(words.size())), from, words.size_bytes(), cudaMemcpyHostToDevice, stream));
  }
  void bring(i64 count, cudaStream_t stream) {
    const std::size_t bytes = std::size_t(count) * sizeof(T);
    call("cudaMemcpyAsync", cudaMemcpyAsync(here.take(count), there.data(), bytes, cudaMemcpyDeviceToHost, stream));
  }
};

/// Whether a stream or an event was found to be done; throws what else the call named so has found.
bool is_ready(const char* name, cudaError_t found);

constexpr double most_silence = 60;  // s, of a GPU that is asked for something

}  // namespace sordino::cuda
