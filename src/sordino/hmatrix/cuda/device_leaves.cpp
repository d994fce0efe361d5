#include "sordino/hmatrix/cuda/device_leaves.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

using cuda::call;
using cuda::OnDevice;

constexpr i64 most_space = i64(16) << 30, staged_bytes = i64(64) << 20;  // of workspaces; of a piece on its way to the host
constexpr i32 many = 256;                                                // rows and columns of a leaf for many threads

/// Streams of our own wait for nothing that goes on elsewhere, and what the host gave may be gone when this returns.
template <class T>
void copy_in(T* to, std::span<const T> from, cudaStream_t stream) {
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

}  // namespace

void Reserve::free() {
  if (data_) where_ == Where::device ? cudaFree(data_) : cudaFreeHost(data_);
  data_ = nullptr;
  bytes_ = 0;
}

void* Reserve::take(i64 bytes) {
  if (bytes <= bytes_) return data_;
  free();
  const std::size_t wanted = std::size_t(bytes);
  const cudaError_t e = where_ == Where::device ? cudaMalloc(&data_, wanted) : cudaHostAlloc(&data_, wanted, 0);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(Errc::unsupported, "the GPU has too little memory to build an H-matrix: " + std::to_string(bytes) +
                                       " bytes more are needed; engine='host' needs none");
  }
  call("cudaMalloc", e);
  bytes_ = bytes;
  return data_;
}

template <class V>
DeviceLeaves<V>::DeviceLeaves(int device) : device_(device) {
  OnDevice here(device_);
  std::size_t available = 0, total = 0;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  capacity_ = std::min(i64(available / 4), most_space) / i64(sizeof(V));
  for (cudaStream_t* s : {&computing_, &computing_small_, &copying_})
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  for (cudaEvent_t* e : {&computed_small_, &packed_, &copied_[0], &copied_[1]})
    call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(e, cudaEventDisableTiming));
}

template <class V>
DeviceLeaves<V>::~DeviceLeaves() {
  for (cudaStream_t s : {computing_, computing_small_, copying_})
    if (s) cudaStreamSynchronize(s), cudaStreamDestroy(s);
  for (cudaEvent_t e : {computed_small_, packed_, copied_[0], copied_[1]})
    if (e) cudaEventDestroy(e);
}

template <class V>
void DeviceLeaves<V>::start(std::span<const LeafTask> tasks, const CompressionOptions& options) {
  OnDevice here(device_);
  count_ = i64(tasks.size());
  copy_in(tasks_.take(count_), tasks, computing_);
  const i64 by_many =
      std::partition_point(tasks.begin(), tasks.end(), [](const LeafTask& t) { return t.rows + t.columns > many; }) -
      tasks.begin();
  const LeafLaunch<V> all{tasks_.data(), 0, count_, options, space_.take(capacity_), results_.take(count_)};
  LeafLaunch<V> large = all, small = all;
  large.end = small.first = by_many;
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(computing_small_, packed_, 0));  // the workspaces are free
  if (large.end > 0) compute(large, true, computing_);
  if (small.first < count_) compute(small, false, computing_small_);
  call("cudaEventRecord", cudaEventRecord(computed_small_, computing_small_));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(computing_, computed_small_, 0));
}

template <class V>
std::vector<LeafResult> DeviceLeaves<V>::finish() {
  OnDevice here(device_);
  std::vector<LeafResult> found(static_cast<std::size_t>(count_));
  const std::size_t bytes = found.size() * sizeof(LeafResult);
  call("cudaMemcpyAsync", cudaMemcpyAsync(found.data(), results_.data(), bytes, cudaMemcpyDeviceToHost, computing_));
  call("cudaStreamSynchronize", cudaStreamSynchronize(computing_));
  return found;
}

template <class V>
void DeviceLeaves<V>::pack(std::span<const i64> places, i64 values) {
  OnDevice here(device_);
  current_ = 1 - current_;
  Batch& batch = batches_[current_];
  batch.count = values;
  copy_in(places_.take(i64(places.size())), places, computing_);
  start_packing(tasks_.data(), results_.data(), places_.data(), count_, space_.data(), batch.values.take(values), computing_);
  call("cudaEventRecord", cudaEventRecord(packed_, computing_));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(copying_, packed_, 0));
}

// Two pieces are on their way: while one comes from the device, threads copy the other to where it belongs, which nobody has
// touched before.
template <class V>
void DeviceLeaves<V>::fetch(V* to) {
  OnDevice here(device_);
  const Batch& batch = batches_[current_];
  const i64 at_once = staged_bytes / i64(sizeof(V)), pieces = (batch.count + at_once - 1) / at_once;
  V* const pieces_of_host = static_cast<V*>(staged_.take(2 * staged_bytes));
  auto staged = [&](i64 piece) { return pieces_of_host + piece % 2 * at_once; };
  auto size = [&](i64 piece) { return std::min(at_once, batch.count - piece * at_once); };
  auto bring = [&](i64 piece) {
    if (piece >= pieces) return;
    call("cudaMemcpyAsync", cudaMemcpyAsync(staged(piece), batch.values.data() + piece * at_once,
                                            std::size_t(size(piece)) * sizeof(V), cudaMemcpyDeviceToHost, copying_));
    call("cudaEventRecord", cudaEventRecord(copied_[piece % 2], copying_));
  };
  bring(0);
  for (i64 piece = 0; piece < pieces; piece++) {
    bring(piece + 1);
    call("cudaEventSynchronize", cudaEventSynchronize(copied_[piece % 2]));
    auto copy = [&](i64 begin, i64 end) {
      std::memcpy(to + piece * at_once + begin, staged(piece) + begin, std::size_t(end - begin) * sizeof(V));
    };
    for_parts(0, size(piece), copy, 1 << 18);
  }
}

template class DeviceLeaves<double>;
template class DeviceLeaves<Number>;

}  // namespace sordino::hmatrix
