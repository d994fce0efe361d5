// Collectives of host data between ranks of the cuda engine: split-phase, beside each other and beside the device's work.
#include <atomic>
#include <optional>
#include <thread>

#include "sordino/comm/communicator.hpp"
#include "support.hpp"

using namespace sordino;

namespace {

/// Ranks that share a device and ranks that have one each, where there are several.
template <class Job>
void on_gpus(int ranks, const Job& job) {
  test::need_gpu();
  for (auto sharing : {cuda::Sharing::automatic, cuda::Sharing::always}) {
    cuda::Options options;
    options.sharing = sharing;
    test::cuda_engine(ranks, options)->run(job, {});
  }
}

constexpr Algorithm ways[] = {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level};

}  // namespace

TEST("host data: starting a collective waits for nobody, and ranks finish several in different orders") {
  on_gpus(4, [](Rank& s) {
    Communicator c(s, 20), go(s, 21);
    std::vector<Pending<std::vector<i64>>> pending;
    for (i64 k = 0; k < 8; k++)
      pending.push_back(c.start_all_reduce(std::vector<i64>{k * s.id()}, Fold::sum, {.algorithm = ways[k % 4]}));
    // Each rank goes on only when the one before it has started everything: with a start that waits nobody would.
    if (s.id() > 0) go.receive<int>(s.id() - 1);
    if (s.id() < 3) go.send(s.id() + 1, std::vector<int>{1});
    for (i64 i = 0; i < 8; i++) {
      i64 k = s.id() % 2 ? 7 - i : i;
      CHECK(pending[std::size_t(k)].get() == std::vector<i64>{6 * k});
    }
  });
}

TEST("host data: receives get messages in the order in which they were started, and a test alone brings a tree to its end") {
  on_gpus(2, [](Rank& s) {
    Communicator c(s, 20);
    auto first = c.start_receive<i32>(1 - s.id());
    auto second = c.start_receive<i32>(1 - s.id());
    c.send(1 - s.id(), std::vector<i32>{1});
    c.send(1 - s.id(), std::vector<i32>{2});
    CHECK(second.get()[0] == 2);
    CHECK(first.test());
    CHECK(first.get()[0] == 1);
    auto sum = c.start_all_reduce(std::vector<i64>{1}, Fold::sum, {.algorithm = Algorithm::tree});
    while (!sum.test()) std::this_thread::yield();
    CHECK(sum.get() == std::vector<i64>{2});
  });
}

TEST("host data: one rank waits for a tree that needs another, which is inside a barrier or waits for its device") {
  std::atomic<bool> there{false};
  for (bool in_barrier : {true, false}) {
    there = false;
    on_gpus(4, [&](Rank& s) {
      Recorded idle = s.record([&] { s.run(Nothing{}); });
      s.replay(idle);  // compiling is collective
      Communicator c(s, 20);
      auto sum = c.start_all_reduce(std::vector<i64>{s.id()}, Fold::sum, {.algorithm = Algorithm::tree});
      std::optional<std::vector<i64>> result;
      if (s.id() == 3) {
        result = sum.get();
        there = true;
      }
      while (!in_barrier && !there) s.replay(idle);
      s.engine().barrier(s);
      if (!result) result = sum.get();
      CHECK(*result == std::vector<i64>{6});
      if (s.id() == 3) there = false;
      s.engine().barrier(s);
    });
  }
}

TEST("host data: a rank that fails is what all others say, and one that never comes is named") {
  test::need_gpu();
  auto fails = [](const char* cause, double timeout, const std::function<void(Rank&)>& job) {
    cuda::Options options;
    options.timeout = timeout;
    auto gpu = test::cuda_engine(3, options);
    CHECK_THROWS(gpu->run(job, {}), Error, cause);
  };
  fails("rank 1: the cause", 10, [](Rank& s) {
    if (s.id() == 1) throw Error(Errc::io, "the cause");
    Communicator(s, 20).all_reduce(std::vector<double>{1});
  });
  fails("rank 2's part of all_reduce (sum of 1 f64, ordered), collective 1 of channel 20", 0.5, [](Rank& s) {
    if (s.id() != 2) Communicator(s, 20).all_reduce(std::vector<double>{1});
  });
  fails("ranks call different collectives", 10, [](Rank& s) {
    Communicator c(s, 20);
    if (s.id() == 1) c.barrier();
    if (s.id() != 1) c.all_reduce(std::vector<double>{1});
  });
}
