#include "sordino/hmatrix/cuda/device_leaves.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/base/staging.hpp"

namespace sordino::hmatrix {
namespace {

using cuda::call;
using cuda::OnDevice;

constexpr i64 most_space = i64(16) << 30;  // bytes of workspaces
constexpr i32 many = 256;                  // rows and columns of a leaf for many threads

constexpr double between_looks = 0.05;  // s

void sleep() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

}  // namespace

template <class V>
DeviceLeaves<V>::DeviceLeaves(int device) : device_(device) {
  OnDevice here(device_);
  std::size_t available = 0, total = 0;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  capacity_ = std::min(i64(available / 4), most_space) / i64(sizeof(V));
  for (cudaStream_t* s : {&computing_, &computing_small_, &copying_, &watching_})
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  auto make = [](cudaEvent_t& e) { call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); };
  for (cudaEvent_t* e : {&given_, &computed_small_, &computed_, &packed_}) make(*e);
  for (cudaEvent_t& e : copied_) make(e);
  const LeafWatch nothing_yet{};
  const int go_on = 0;
  watch_.send({&nothing_yet, 1}, watching_);
  stop_.send({&go_on, 1}, watching_);
  call("cudaEventRecord", cudaEventRecord(given_, watching_));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(computing_, given_, 0));
}

template <class V>
DeviceLeaves<V>::~DeviceLeaves() {
  for (cudaStream_t s : {computing_, computing_small_, copying_, watching_})
    if (s) cudaStreamDestroy(s);
  for (cudaEvent_t e : {given_, computed_small_, computed_, packed_})
    if (e) cudaEventDestroy(e);
  for (cudaEvent_t e : copied_)
    if (e) cudaEventDestroy(e);
}

/// As it was a moment ago: nobody waits for the device here, which may be past answering.
template <class V>
void DeviceLeaves<V>::look() {
  looked_ = seconds_now();
  if (is_ready("cudaStreamQuery", cudaStreamQuery(watching_))) watch_.bring(1, watching_);
}

template <class V>
bool DeviceLeaves<V>::wait(cudaEvent_t event, const Meanwhile& meanwhile) {
  const LeafWatch& seen = *watch_.here.data();
  double heard = seconds_now();
  u64 beats = seen.beats;
  for (; !is_ready("cudaEventQuery", cudaEventQuery(event)); sleep()) {
    if (seconds_now() - looked_ < between_looks) continue;
    look();
    if (std::exchange(beats, u64(seen.beats)) != seen.beats) heard = looked_;
    if (looked_ - heard > most_silence)
      throw Error(Errc::device, "GPU " + std::to_string(device_) + " builds an H-matrix and has finished no block of it for " +
                                    std::to_string(int(most_silence)) + " s");
    if (!meanwhile(i64(seen.done))) return false;
  }
  if (seconds_now() - looked_ >= between_looks) look();  // many short waits are told of, too
  return meanwhile(i64(seen.done));
}

// Called when something has failed: another failure here is no news.
template <class V>
bool DeviceLeaves<V>::stop() {
  *stop_.here.data() = 1;
  cudaMemcpyAsync(stop_.there.data(), stop_.here.data(), sizeof(int), cudaMemcpyHostToDevice, watching_);
  const double end = seconds_now() + most_silence;
  for (cudaStream_t s : {computing_, computing_small_, copying_, watching_})
    for (; cudaStreamQuery(s) == cudaErrorNotReady; sleep())
      if (seconds_now() > end) return false;
  return true;
}

template <class V>
void DeviceLeaves<V>::start(std::span<const LeafTask> tasks, const CompressionOptions& options) {
  OnDevice here(device_);
  count_ = i64(tasks.size());
  tasks_.send(tasks, computing_);
  const i64 by_many =
      std::partition_point(tasks.begin(), tasks.end(), [](const LeafTask& t) { return t.rows + t.columns > many; }) -
      tasks.begin();
  const LeafLaunch<V> all{.tasks = tasks_.there.data(),
                          .first = 0,
                          .end = count_,
                          .options = options,
                          .space = space_.take(capacity_),
                          .results = results_.there.take(count_),
                          .watch = watch_.there.data(),
                          .stop = stop_.there.data()};
  LeafLaunch<V> large = all, small = all;
  large.end = small.first = by_many;
  call("cudaEventRecord", cudaEventRecord(given_, computing_));  // the tasks are there, and the workspaces free
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(computing_small_, given_, 0));
  if (large.end > 0) compute(large, true, computing_);
  if (small.first < count_) compute(small, false, computing_small_);
  call("cudaEventRecord", cudaEventRecord(computed_small_, computing_small_));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(computing_, computed_small_, 0));
  staged_.take(buffers * of_piece);  // which takes its time, once, while the device computes
}

template <class V>
std::vector<LeafResult> DeviceLeaves<V>::finish(const Meanwhile& meanwhile) {
  OnDevice here(device_);
  results_.bring(count_, computing_);
  call("cudaEventRecord", cudaEventRecord(computed_, computing_));
  if (!wait(computed_, meanwhile)) return {};
  const LeafResult* found = results_.here.data();
  return {found, found + count_};
}

template <class V>
void DeviceLeaves<V>::pack(std::span<const i64> places, i64 values) {
  OnDevice here(device_);
  current_ = 1 - current_;
  Batch& batch = batches_[current_];
  batch.count = values;
  places_.send(places, computing_);
  start_packing(tasks_.there.data(), results_.there.data(), places_.there.data(), count_, space_.data(),
                batch.values.take(values), computing_);
  call("cudaEventRecord", cudaEventRecord(packed_, computing_));
  call("cudaStreamWaitEvent", cudaStreamWaitEvent(copying_, packed_, 0));
}

// Values go where nobody has written before: each thread that copies waits for pages, too, and takes a piece of two of them.
template <class V>
void DeviceLeaves<V>::fetch(V* to, const Meanwhile& meanwhile, int threads) {
  OnDevice here(device_);
  const Batch& batch = batches_[current_];
  auto buffer = [&](i64 piece) { return staged_.data() + piece % buffers * of_piece; };
  auto bytes = [&](i64 piece) { return std::size_t(std::min(of_piece, batch.count - piece * of_piece)) * sizeof(V); };
  auto begin = [&](i64 piece) {
    const V* const from = batch.values.data() + piece * of_piece;
    call("cudaMemcpyAsync", cudaMemcpyAsync(buffer(piece), from, bytes(piece), cudaMemcpyDeviceToHost, copying_));
    call("cudaEventRecord", cudaEventRecord(copied_[piece % buffers], copying_));
  };
  auto wait_for = [&](i64 piece) { return wait(copied_[piece % buffers], meanwhile); };
  auto empty = [&](i64 piece) { std::memcpy(to + piece * of_piece, buffer(piece), bytes(piece)); };
  bring({(batch.count + of_piece - 1) / of_piece, buffers, begin, wait_for, empty}, threads);
}

template class DeviceLeaves<double>;
template class DeviceLeaves<Number>;

}  // namespace sordino::hmatrix
