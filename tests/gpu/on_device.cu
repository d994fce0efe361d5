// Loops that the device runs by itself, ended from outside: by a request to stop, by a rank that throws meanwhile, by one that
// sends nothing. In a WHILE graph the host looks only when many chunks have run; a kernel that stays runs a chunk.
#include <cstring>

#include "forms.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;

namespace {

constexpr int endless = 4'000'000;   // iterations; seconds, if nothing ends them
constexpr int second_launch = 2000;  // an iteration that the host launches when the first ones have ended

using cuda::Looping;
using StayingKernels = KernelList<Kernel<Nothing>, Kernel<test::Blend>, Kernel<test::Keep, test::Below>, Kernel<test::Damp>>;

const std::vector<std::pair<const char*, Looping>> ways{{"WHILE graph", Looping::while_graph},
                                                        {"kernel that stays", Looping::resident}};

/// Numbers of ranks that have a GPU each: others take launches.
std::vector<int> rank_counts(int least) {
  test::need_gpu();
  int devices = int(cuda::device_report().devices.size());
  std::vector<int> counts;
  for (int r : {1, 2, 4})
    if (r >= least && r <= devices) counts.push_back(r);
  if (counts.empty()) SKIP("ranks with a GPU each need ", least, " GPUs, and here are ", devices);
  return counts;
}

std::unique_ptr<cuda::CudaEngine> engine(int ranks, Looping looping, const cuda::Injection& inject = {}) {
  cuda::enable_resident(StayingKernels{});
  cuda::Options o;
  o.looping = looping;
  o.inject = inject;
  o.timeout = inject.mute ? 0.5 : 10;
  return test::cuda_engine(ranks, o);
}

struct Run {
  std::vector<Outcome> outcome;
  std::vector<std::vector<double>> history;
};

Run roam(Engine& engine, int most, const std::function<void()>& meanwhile = {}) {
  Run run{std::vector<Outcome>(std::size_t(engine.size())), std::vector<std::vector<double>>(std::size_t(engine.size()))};
  engine.run(
      [&](Rank& rank) {
        std::vector<double> values;
        rank.stop_seen = false;  // of an earlier run
        run.outcome[std::size_t(rank.id())] = test::blend(rank, values, false, most, -1e300, 3);
        run.history[std::size_t(rank.id())] = rank.history;
      },
      meanwhile);
  return run;
}

void works(int ranks, Looping looping) {
  auto gpu = engine(ranks, looping);
  Run run = roam(*gpu, 30);
  CHECK(run.outcome[0].verdict == proceed);
  CHECK(run.outcome[0].iterations == 30);
}

}  // namespace

TEST("on the device: a request to stop ends all ranks in the same iteration") {
  for (auto [way, looping] : ways) {
    for (int ranks : rank_counts(1)) {
      NOTE(way, ", ", ranks, " ranks");
      auto gpu = engine(ranks, looping);
      Run run = roam(*gpu, endless, [&] {
        if (gpu->progress().iteration >= second_launch) gpu->request_stop();
      });
      for (int r = 0; r < ranks; r++) {
        NOTE("rank ", r, ": ", run.outcome[std::size_t(r)].iterations, " iterations");
        CHECK(run.outcome[std::size_t(r)].verdict == asked_to_stop);
        CHECK(run.outcome[std::size_t(r)].iterations == run.outcome[0].iterations);
        auto &mine = run.history[std::size_t(r)], &first = run.history[0];
        REQUIRE(i64(mine.size()) == run.outcome[0].iterations);
        CHECK(std::memcmp(mine.data(), first.data(), mine.size() * sizeof(double)) == 0);
      }
      CHECK(run.outcome[0].iterations > second_launch);
      CHECK(run.outcome[0].iterations < endless);
      gpu->clear_stop();
      CHECK(roam(*gpu, 30).outcome[0].iterations == 30);
    }
  }
}

TEST("on the device: a rank that throws meanwhile ends what the others repeat on their devices") {
  for (auto [way, looping] : ways) {
    for (int ranks : rank_counts(2)) {
      NOTE(way, ", ", ranks, " ranks");
      cuda::Injection inject;
      inject.rank = ranks - 1;
      inject.before = [](Rank&, int first, int) {
        if (first > 0) throw std::runtime_error("out of coffee");  // the others go on without it
      };
      auto gpu = engine(ranks, looping, inject);
      std::string cause;
      try {
        roam(*gpu, endless);
      } catch (const Error& e) {
        cause = e.what();
      }
      CHECK(cause == "rank " + std::to_string(ranks - 1) + ": out of coffee");
      CHECK(!gpu->has_lost_a_rank());
      works(ranks, looping);
    }
  }
}

TEST("on the device: a supervisor that throws ends them, too") {
  for (auto [way, looping] : ways) {
    for (int ranks : rank_counts(1)) {
      NOTE(way, ", ", ranks, " ranks");
      auto gpu = engine(ranks, looping);
      auto impatient = [&] {
        if (gpu->progress().iteration >= second_launch) throw std::runtime_error("out of tea");
      };
      CHECK_THROWS(roam(*gpu, endless, impatient), std::runtime_error, "out of tea");
      CHECK(!gpu->has_lost_a_rank());
      works(ranks, looping);
    }
  }
}

TEST("on the device: a rank that sends nothing is named with command, iteration and epoch, by all") {
  for (auto [way, looping] : ways) {
    for (int ranks : rank_counts(2)) {
      NOTE(way, ", ", ranks, " ranks");
      cuda::Injection inject;
      inject.rank = ranks - 1;
      inject.command = "Blend";
      inject.iteration = second_launch;
      inject.mute = true;
      auto gpu = engine(ranks, looping, inject);
      std::string cause;
      try {
        roam(*gpu, endless);
      } catch (const Error& e) {
        cause = e.what();
      }
      NOTE(cause);
      CHECK(cause.find(": command Keep, iteration 2000: waited 0.5 s without any progress for rank " +
                       std::to_string(ranks - 1) + "'s part of the reduction into 's1', epoch 2001 (seen 1999)") !=
            std::string::npos);
      CHECK(!gpu->has_lost_a_rank());
      CHECK_THROWS(roam(*gpu, 30), Error, "these ranks have failed before");
      works(ranks, looping);
    }
  }
}
