// Between host and device: copies of both kinds, each way (as in Figure 6 of the paper on GMH), and a word in host memory that
// a kernel and the host see, which is how our chunks of commands report.
#include <algorithm>
#include <atomic>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/pinned.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

enum class Copy { pageable, pinned, asynchronous };
constexpr const char* name_of[] = {"cudaMemcpy, pageable", "cudaMemcpy, pinned", "cudaMemcpyAsync and synchronize"};

CommFigure time_copies(TeamRank& rank, Copy copy, bool to_device, i64 bytes, void* host, void* device) {
  auto kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  void *to = to_device ? device : host, *from = to_device ? host : device;
  std::vector<double> seconds;
  int samples = bytes >= 1 << 20 ? 30 : 2000;
  for (int i = -5; i < samples; i++) {
    double begin = seconds_now();
    if (copy == Copy::asynchronous) {
      call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, std::size_t(bytes), kind, rank.stream()));
      call("cudaStreamSynchronize", cudaStreamSynchronize(rank.stream()));
    } else {
      call("cudaMemcpy", cudaMemcpy(to, from, std::size_t(bytes), kind));
    }
    if (i >= 0) seconds.push_back(seconds_now() - begin);
  }
  CommFigure f{.what = "host", .way = name_of[int(copy)], .bytes = bytes};
  add_samples(f, std::move(seconds));
  f.bandwidth = double(bytes) / f.median;
  f.remark = to_device ? "to the device" : "to the host";
  return f;
}

struct Words {
  alignas(128) u32 asked = 0;  // by the host
  alignas(128) u32 answered = 0;
};

/// One thread answers each word of the host.
__global__ void answer(const __grid_constant__ DeviceTeam t, Words* words, i32 channel, u32 rounds) {
  for (u32 n = 1; n <= rounds; n++) {
    bool there = spin(t, Wait::halo, channel, 0, n << 1, [&](u32& seen) {
      u32 word = load_relaxed(&words->asked);
      seen = word << 1;
      return word == n;
    });
    if (!there) return;
    store_relaxed(&words->answered, n);
  }
}

CommFigure time_words(TeamRank& rank, Words& words, i32 channel) {
  constexpr u32 rounds = 20'000;
  rank.launch({.threads = 1}, answer, rank.team(), &words, channel, rounds);
  std::atomic_ref<u32> asked(words.asked), answered(words.answered);
  std::vector<double> seconds;
  for (u32 n = 1; n <= rounds; n++) {
    double begin = seconds_now();
    asked.store(n, std::memory_order_release);
    while (answered.load(std::memory_order_acquire) != n)
      if (seconds_now() - begin > 5) throw Error(Errc::device, "a kernel does not answer a word in host memory");
    if (n > 100) seconds.push_back((seconds_now() - begin) / 2);
  }
  rank.wait();
  CommFigure f{.what = "host", .way = "a word in host memory, polled", .bytes = 4};
  add_samples(f, std::move(seconds));
  f.remark = "half of to and fro";
  return f;
}

}  // namespace

std::vector<CommFigure> time_host_transfers(const CommPlan& plan) {
  possible_ranks(plan, 1);  // throws without a GPU
  constexpr i64 largest = 64 << 20;
  TeamOptions options = team_options(plan, 1);
  options.window = std::size_t(largest) + (1 << 20);
  Team team(options);
  i32 channel = team.signals("a word in host memory").channel;
  auto device = team.array<char>(largest);
  Pinned pinned(largest), words(sizeof(Words));
  std::vector<char> pageable(std::size_t(largest), char(1));
  std::vector<CommFigure> figures;
  team.run([&](TeamRank& rank) {
    char* there = rank.team().mine(device);
    for (bool to_device : {true, false})
      for (i64 bytes : {i64(8), i64(4 << 10), i64(1 << 20), largest})
        for (Copy copy : {Copy::pageable, Copy::pinned, Copy::asynchronous}) {
          void* host = copy == Copy::pageable ? pageable.data() : pinned.bytes;
          figures.push_back(time_copies(rank, copy, to_device, bytes, host, there));
        }
    figures.push_back(time_words(rank, *new (words.bytes) Words, channel));
  });
  return figures;
}

}  // namespace sordino::cuda
