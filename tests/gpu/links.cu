// Ranks that send through host memory, as where devices have no peer access: the same results as through peer memory, to the
// bit, and the same ends of a failure.
#include "grid.hpp"
#include "hops.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using test::Cg;

namespace {

cuda::Options through_host(cuda::Options o = {}) {
  o.links = cuda::Links::host;
  return o;
}

struct Run {
  std::vector<double> history, x;
  Verdict verdict = proceed;
  bool operator==(const Run&) const = default;
};

Run solve(Engine& engine, int nx, int ny, int nz, double limit, int max) {
  std::vector<Run> of_rank(std::size_t(engine.size()));
  engine.run(
      [&](Rank& rank) {
        Cg cg(rank, nx, ny, nz, 100);
        Outcome outcome;
        for (int k = 0; k < 3; k++) outcome = cg.solve(cg.right_hand_side().data(), limit, max);
        of_rank[std::size_t(rank.id())] = {rank.history, cg.solution(), outcome.verdict};
      },
      {});
  Run all = of_rank[0];
  for (std::size_t r = 1; r < of_rank.size(); r++) {
    NOTE("rank ", r);
    CHECK(of_rank[r].history == all.history);
    all.x.insert(all.x.end(), of_rank[r].x.begin(), of_rank[r].x.end());
  }
  return all;
}

/// The ways in which ranks come together on devices.
std::vector<cuda::Options> gatherings() {
  cuda::Options one_device, launches, single_chunks;
  one_device.devices = {0};
  one_device.sharing = cuda::Sharing::always;
  launches.looping = cuda::Looping::launches;
  single_chunks.chunk = 1;
  return {{}, test::spinning(), one_device, launches, single_chunks};
}

}  // namespace

TEST("links: through host memory the bits are those of peer memory") {
  test::need_gpu();
  for (int ranks : {2, 3, 4}) {
    auto straight = test::cuda_engine(ranks);
    Run expected = solve(*straight, 16, 12, 20, 1e-12, 400);
    CHECK(expected.verdict == met);
    int way = 0;
    for (auto& o : gatherings()) {
      NOTE(ranks, " ranks, way ", way++);
      auto gpu = test::cuda_engine(ranks, through_host(o));
      CHECK(gpu->carrier(0, 1) == Carrier::host_memory);
      CHECK(solve(*gpu, 16, 12, 20, 1e-12, 400) == expected);
    }
  }
}

TEST("links: where no device reaches another's memory, host memory is chosen by itself") {
  test::need_gpu();
  if (test::gpus() < 2) SKIP("two GPUs are needed, and here is ", test::gpus());
  cuda::Options apart;
  apart.all_far = true;
  for (int ranks : {2, std::min(test::gpus(), 4)}) {
    NOTE(ranks, " ranks");
    auto straight = test::cuda_engine(ranks), gpu = test::cuda_engine(ranks, apart);
    CHECK(straight->carrier(0, 1) != Carrier::host_memory);
    CHECK(gpu->carrier(0, 1) == Carrier::host_memory);
    CHECK(solve(*gpu, 16, 12, 20, 1e-12, 400) == solve(*straight, 16, 12, 20, 1e-12, 400));
  }
  apart.links = cuda::Links::memory;
  CHECK_THROWS(test::cuda_engine(2, apart), Error, "do not reach each other's memory");
}

TEST("links: sums in fixed order through host memory have the bits of the host engine") {
  test::need_gpu();
  cuda::enable<cuda::SumOrder::fixed>(test::CgKernels{});
  auto host = test::host_engine(1);
  Run expected = solve(*host, 24, 20, 22, 1e-10, 500);
  for (int ranks : {2, 3}) {
    NOTE(ranks, " ranks");
    cuda::Options o = through_host();
    o.deterministic = true;
    auto gpu = test::cuda_engine(ranks, o);
    CHECK(solve(*gpu, 24, 20, 22, 1e-10, 500) == expected);
  }
}

TEST("links: messages and collectives on vectors arrive through host memory") {
  test::need_gpu();
  cuda::enable(traffic::Kernels{});
  for (int ranks : {2, 3, 4}) {
    NOTE(ranks, " ranks");
    auto gpu = test::cuda_engine(ranks, through_host());
    traffic::ring(*gpu);
    traffic::collectives(*gpu);
    traffic::sums(*gpu);
    traffic::folds(*gpu);
    traffic::copies(*gpu);
  }
}

TEST("links: a dslash whose kernel sends and waits does so through host memory") {
  test::need_gpu();
  cuda::enable_kernels();
  hops::Case c{{{4, 4, 8, 8}, true}, {1, 1, 2, 2}, lattice::Precision::double_precision, 18};
  auto straight = test::cuda_engine(4);
  auto carried = test::cuda_engine(4, through_host());
  CHECK(hops::run(*straight, c) == hops::run(*carried, c));
}

TEST("links: who sends nothing into host memory is named, and a rank that throws ends the others") {
  test::need_gpu();
  for (const char* command : {"Stencil", "Update", "Direction"}) {
    NOTE(command);
    cuda::Options o = through_host();
    o.timeout = 0.5;
    o.inject = {.rank = 1, .command = command, .iteration = 7, .mute = true};
    auto gpu = test::cuda_engine(3, o);
    CHECK_THROWS(solve(*gpu, 16, 16, 16, 0, 100), Error, "waited 0.5 s without any progress for rank ");
  }
  auto gpu = test::cuda_engine(3, through_host());
  auto job = [](Rank& rank) {
    Cg cg(rank, 16, 16, 16, 10);
    cg.solve(cg.right_hand_side().data(), 1e-10, 100);
    if (rank.id() == 2) throw std::runtime_error("out of coffee");
    cg.solve(cg.right_hand_side().data(), 1e-10, 100);
  };
  CHECK_THROWS(gpu->run(job, {}), Error, "rank 2: out of coffee");
}

TEST("links: a stop request travels through host memory, to the same iteration of all ranks") {
  test::need_gpu();
  auto gpu = test::cuda_engine(3, through_host());
  std::vector<int> iterations(3);
  gpu->run(
      [&](Rank& rank) {
        Cg cg(rank, 16, 16, 16, 10);
        Outcome outcome = cg.solve(cg.right_hand_side().data(), 0, 1000000000);
        CHECK(outcome.verdict == asked_to_stop);
        iterations[std::size_t(rank.id())] = outcome.iterations;
      },
      [&] {
        if (gpu->progress().iteration.load() > 50) gpu->request_stop();
      });
  CHECK(iterations[0] > 50);
  CHECK(iterations == std::vector<int>(3, iterations[0]));
}
