#include "sordino/trsv/cuda/passes.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/pointers.hpp"

namespace sordino::trsv {

using cuda::call;

std::unique_lock<std::mutex> turn_on_gpus(int ranks) {
  static std::mutex mutex;
  return ranks > 1 ? std::unique_lock(mutex) : std::unique_lock(mutex, std::defer_lock);
}

CallersVectors::CallersVectors(const cuda::Team& team, const void* b, void* x, std::size_t bytes, void* stream)
    : b_(b), x_(x), bytes_(bytes), stream_(stream ? static_cast<cudaStream_t>(stream) : cudaStreamLegacy) {
  std::vector<int> devices;
  auto is_in_place = [&](const void* vector) {
    const cuda::Place place = cuda::place_of(vector);
    if (place.memory != cuda::Memory::device) return false;
    devices.push_back(place.device);
    return team.size() == 1 && team.device(0) == place.device;
  };
  b_in_place_ = is_in_place(b);
  x_in_place_ = is_in_place(x);
  if (!in_place()) wait_for_work(devices, stream_ != cudaStreamLegacy && stream_ != cudaStreamPerThread);
}

/// A stream of the caller's is of one of them, but for handles that mean one on each GPU.
void CallersVectors::wait_for_work(const std::vector<int>& devices, bool has_stream) const {
  int waited_on = -1;  // b and x mostly share their GPU, whose stream is waited for once
  for (const int device : devices) {
    if (device == waited_on) continue;
    const cuda::OnDevice on(device);
    call("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
    if (has_stream) return;
    waited_on = device;
  }
}

void CallersVectors::put(cuda::TeamRank& rank, void* b) const {
  if (!b_in_place_) cuda::start_copying(b, b_, bytes_, rank.stream());
}

void CallersVectors::take(cuda::TeamRank& rank, const void* x) const {
  rank.wait();
  if (x_in_place_) return;
  rank.barrier();
  if (rank.id() != 0) return;
  cuda::start_copying(x_, x, bytes_, rank.stream());
  rank.wait();
}

void settle_quietly(cuda::Team& team) noexcept {
  try {
    team.settle();
  } catch (...) {  // whoever has solved was told, or will not look at x any more
  }
}

void validate(const GpuOptions& o, int most) {
  const int c = o.most_columns;
  if (c < 1 || c > most || (c & (c - 1)) != 0)
    bad_argument(std::string("a pass of a triangular solve has 1, 2, 4") +
                 (most > most_columns_of_pass ? ", 8, 16 or 32" : " or 8") + " columns, and " + std::to_string(c) +
                 " were asked for");
}

PassSize size_of_pass(i64 left, int most) {
  if (left > most_columns_of_pass && most > most_columns_of_pass) {
    const int room = left > most / 2 ? most : 2 * most_columns_of_pass;
    return {int(std::min<i64>(left, room)), room};
  }
  int columns = 1;
  while (2 * columns <= std::min<i64>(left, std::min(most, most_columns_of_pass))) columns *= 2;
  return {columns, columns};
}

u32 passes_of(i64 columns, int most) {
  u32 count = 0;
  for (i64 first = 0; first < columns; count++) first += size_of_pass(columns - first, most).columns;
  return count;
}

std::vector<double> seconds_on_gpus(cuda::Team& team, int repeats, const std::function<void(cuda::TeamRank&)>& prepare,
                                    const std::function<void(cuda::TeamRank&)>& start, const std::function<void()>& then) {
  std::vector<std::vector<double>> seconds(std::size_t(team.size()));
  for (int k = 0; k < repeats; k++) {
    team.run([&](cuda::TeamRank& rank) {
      prepare(rank);
      cudaEvent_t begin, end;
      call("cudaEventCreate", cudaEventCreate(&begin));
      call("cudaEventCreate", cudaEventCreate(&end));
      rank.wait();
      rank.barrier();
      call("cudaEventRecord", cudaEventRecord(begin, rank.stream()));
      start(rank);
      call("cudaEventRecord", cudaEventRecord(end, rank.stream()));
      rank.wait();
      float milliseconds = 0;
      call("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin, end));
      seconds[std::size_t(rank.id())].push_back(1e-3 * milliseconds);
      call("cudaEventDestroy", cudaEventDestroy(begin));
      call("cudaEventDestroy", cudaEventDestroy(end));
    });
    then();
  }
  std::vector<double> slowest = seconds[0];
  for (const auto& of_rank : seconds)
    for (std::size_t k = 0; k < slowest.size(); k++) slowest[k] = std::max(slowest[k], of_rank[k]);
  return slowest;
}

}  // namespace sordino::trsv
