// A rank that is stuck, throws or dawdles, on the cuda engine: all ranks fail with the same cause in bounded time, and a new
// engine works.
#include <chrono>
#include <thread>

#include "failing.hpp"
#include "grid.hpp"
#include "support.hpp"

using namespace sordino;
using test::Cg;
using test::fail;
using test::Failure;

namespace {

cuda::Options impatient(bool spin) {
  cuda::Options o = spin ? test::spinning() : cuda::Options{};
  o.timeout = 0.5;
  return o;
}

void works(int ranks) {
  auto gpu = test::cuda_engine(ranks);
  std::vector<Outcome> outcome(ranks);
  gpu->run(
      [&](Rank& rank) {
        Cg cg(rank, 16, 16, 16, 10);
        outcome[rank.id()] = cg.solve(cg.right_hand_side().data(), 1e-10, 300);
      },
      {});
  CHECK(outcome[0].verdict == met);
}

}  // namespace

TEST("faults: a signal that never comes is named by what waited for it, and all ranks fail") {
  test::need_gpu();
  for (bool spin : {false, true})
    for (const char* command : {"Stencil", "Update", "Direction"}) {
      NOTE(command, spin ? ", spinning" : "");
      cuda::Options o = impatient(spin);
      o.inject = {.rank = 1, .command = command, .iteration = 7, .mute = true};
      auto gpu = test::cuda_engine(3, o);
      Failure f = fail(*gpu, [](Rank&, Cg& cg, const std::vector<double>& b) { cg.solve(b.data(), 0, 100); });
      NOTE(f.cause);
      CHECK(f.seconds < 10);
      CHECK(f.cause.find("iteration ") != std::string::npos);
      CHECK(f.cause.find("waited 0.5 s without any progress for rank ") != std::string::npos);
      // All wait for rank 1, and rank 1, which still gets what it needs, soon waits for them: either may lose patience first.
      CHECK((f.cause.find("for rank 1's ") != std::string::npos || f.cause.starts_with("rank 1: ")));
      CHECK_THROWS(gpu->run([](Rank&) {}, {}), Error, "these ranks have failed before");
    }
  works(3);
}

TEST("faults: a rank that throws between replays stops the others") {
  test::need_gpu();
  for (bool spin : {false, true}) {
    NOTE(spin ? "spinning" : "");
    auto gpu = test::cuda_engine(3, impatient(spin));
    Failure f = fail(*gpu, [](Rank& rank, Cg& cg, const std::vector<double>& b) {
      cg.solve(b.data(), 1e-10, 100);
      if (rank.id() == 2) throw std::runtime_error("out of coffee");
      cg.solve(b.data(), 1e-10, 100);
    });
    CHECK(f.cause == "rank 2: out of coffee");
    CHECK(f.seconds < 10);
  }
  works(3);
}

TEST("faults: a rank that never comes back is named, and left behind") {
  test::need_gpu();
  auto gpu = test::cuda_engine(3, impatient(true));
  std::atomic<bool> release{false}, left{false};
  struct Leaving {
    std::atomic<bool>* flag;
    ~Leaving() {
      if (flag) *flag = true;
    }
  };
  std::function<void(Rank&)> job = [&](Rank& rank) {
    Leaving leaving{rank.id() == 1 ? &left : nullptr};
    Cg cg(rank, 16, 16, 16, 10);
    auto b = cg.right_hand_side();
    cg.solve(b.data(), 0, 60);
    while (rank.id() == 1 && !release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cg.solve(b.data(), 0, 60);
  };
  auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS(gpu->run(job, {}), Error, "waited 0.5 s without any progress for ");
  CHECK(gpu->has_lost_a_rank());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
  release = true;
  while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  works(3);
}

TEST("faults: a late rank is waited for, and the wait is booked") {
  test::need_gpu();
  for (const char* command : {"Update", "Direction"}) {
    NOTE(command);
    cuda::Options o = test::spinning();
    o.inject = {.rank = 0, .command = command, .iteration = 5, .delay = 0.02};
    auto gpu = test::cuda_engine(2, o);
    Ledger ledger;
    gpu->run(
        [&](Rank& rank) {
          Cg cg(rank, 16, 16, 16, 10);
          cg.solve(cg.right_hand_side().data(), 0, 40);
          if (rank.id() == 1) ledger = rank.ledger;
        },
        {});
    NOTE(ledger.exposed_reduction, " ", ledger.exposed_halo);
    double waited = command[0] == 'U' ? ledger.exposed_reduction : ledger.exposed_halo;
    CHECK(waited > 0.01);
    CHECK(waited < 1);
  }
}

TEST("faults: options that cannot be met are refused with a sentence") {
  test::need_gpu();
  cuda::Options o;
  o.devices = {99};
  CHECK_THROWS(cuda::CudaEngine{o}, Error, "there is no device 99");
}
