// Conjugate gradients on the cuda engine, beside the host engine: the same iterations, the same ledger, the same bits on all
// ranks, and nothing new after the first solve.
#include <chrono>
#include <cstring>
#include <thread>

#include "grid.hpp"
#include "support.hpp"

using namespace sordino;
using test::Cg;

namespace {

struct Run {
  std::vector<Outcome> outcome;
  std::vector<std::vector<double>> history, x;
  std::vector<Ledger> ledger;
};

Run solve(Engine& engine, int nx, int ny, int nz, double limit, int max, int solves = 1) {
  int n = engine.size();
  Run run{std::vector<Outcome>(n), std::vector<std::vector<double>>(n), std::vector<std::vector<double>>(n),
          std::vector<Ledger>(n)};
  engine.run(
      [&](Rank& rank) {
        Cg cg(rank, nx, ny, nz, 100);
        auto b = cg.right_hand_side();
        for (int k = 0; k < solves; k++) run.outcome[rank.id()] = cg.solve(b.data(), limit, max);
        run.history[rank.id()] = rank.history;
        run.ledger[rank.id()] = rank.ledger;
        run.x[rank.id()] = cg.solution();
      },
      {});
  return run;
}

std::vector<double> joined(const Run& run) {
  std::vector<double> all;
  for (auto& x : run.x) all.insert(all.end(), x.begin(), x.end());
  return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void same_on_all_ranks(const Run& run) {
  for (std::size_t r = 1; r < run.history.size(); r++) {
    NOTE("rank ", r);
    CHECK(same_bits(run.history[r], run.history[0]));
    CHECK(run.outcome[r].iterations == run.outcome[0].iterations);
  }
}

void compare(const Run& gpu, const Run& host) {
  CHECK(gpu.outcome[0].verdict == host.outcome[0].verdict);
  CHECK(std::abs(gpu.outcome[0].iterations - host.outcome[0].iterations) <= 1);
  same_on_all_ranks(gpu);
  CHECK_NEAR(test::distance(joined(gpu), joined(host)), 0.0, 1e-6);
  if (gpu.outcome[0].iterations == host.outcome[0].iterations)
    for (std::size_t r = 0; r < gpu.ledger.size(); r++) {
      NOTE("rank ", r);
      auto &a = gpu.ledger[r], &b = host.ledger[r];
      NOTE("commands ", a.commands, " ", b.commands, ", reductions ", a.reductions, " ", b.reductions, ", messages ",
           a.messages, " ", b.messages, ", bytes ", a.memory_bytes, " ", b.memory_bytes);
      CHECK(a.same_counts(b));
    }
}

}  // namespace

TEST("cg: the cuda engine does what the host engine does, on 1 to 4 ranks") {
  test::need_gpu();
  for (int ranks : {1, 2, 3, 4}) {
    NOTE("ranks = ", ranks);
    auto host = test::host_engine(ranks);
    auto gpu = test::cuda_engine(ranks);
    Run a = solve(*gpu, 16, 16, 18, 1e-12, 400), b = solve(*host, 16, 16, 18, 1e-12, 400);
    CHECK(a.outcome[0].verdict == met);
    compare(a, b);
  }
}

TEST("cg: a loop that runs to its maximum stops exactly there, and is drained") {
  test::need_gpu();
  for (int max : {1, 2, 3, 4, 19, 20, 21, 40, 47}) {
    NOTE("max = ", max);
    auto host = test::host_engine(2);
    auto gpu = test::cuda_engine(2);
    Run a = solve(*gpu, 16, 16, 8, 0, max, 2), b = solve(*host, 16, 16, 8, 0, max, 2);
    CHECK(a.outcome[0].iterations == max);
    CHECK(a.outcome[0].verdict == proceed);
    compare(a, b);
    auto one = test::cuda_engine(1);
    CHECK(solve(*one, 16, 16, 8, 0, max, 2).history[0].size() == std::size_t(2 * max));
  }
}

TEST("cg: ranks that wait for each other on the device") {
  test::need_gpu();
  for (int ranks : {2, 4}) {
    NOTE("ranks = ", ranks);
    auto host = test::host_engine(ranks);
    auto gpu = test::cuda_engine(ranks, test::spinning());
    Run a = solve(*gpu, 16, 16, 16, 1e-12, 400, 5), b = solve(*host, 16, 16, 16, 1e-12, 400, 5);
    compare(a, b);
  }
}

TEST("cg: where blocks stand aside to send and to wait, the result is the host's, and always has the same bits") {
  test::need_gpu();
  for (int ranks : {2, 3})
    for (double aside : {0.0, 1.0, 4.0}) {
      NOTE(ranks, " ranks, aside ", aside);
      cuda::Options o = test::spinning();
      o.dealing.aside = aside;
      auto host = test::host_engine(ranks);
      auto gpu = test::cuda_engine(ranks, o), again = test::cuda_engine(ranks, o);
      Run a = solve(*gpu, 32, 32, 60, 1e-10, 300);
      compare(a, solve(*host, 32, 32, 60, 1e-10, 300));
      CHECK(same_bits(joined(a), joined(solve(*again, 32, 32, 60, 1e-10, 300))));
    }
}

TEST("cg: without chained launches, launch by launch, and timed, the bits are the same") {
  test::need_gpu();
  auto reference = test::cuda_engine(1);
  Run a = solve(*reference, 32, 32, 32, 1e-10, 300);
  cuda::Options o;
  for (int variant = 0; variant < 4; variant++) {
    NOTE("variant ", variant);
    cuda::Options v;
    if (variant == 0) v.chain = false;
    if (variant == 1) v.sharing = cuda::Sharing::always;
    if (variant == 2) v.time_commands = true;
    if (variant == 3) v.chunk = 7;
    auto other = test::cuda_engine(1, v);
    Run b = solve(*other, 32, 32, 32, 1e-10, 300);
    CHECK(a.history[0] == b.history[0]);
    CHECK(a.x[0] == b.x[0]);
    if (variant == 2) {
      auto& k = b.ledger[0].kernels;
      CHECK(k.size() >= 3);
      CHECK(k["Update"].calls > 0);
      CHECK(k["Update"].seconds > 0);
    }
  }
}

TEST("cg: launch by launch, in graphs, and in a graph that repeats itself on the device, the bits are the same") {
  test::need_gpu();
  for (int ranks = 1; ranks <= int(cuda::device_report().devices.size()); ranks *= 2) {
    NOTE("ranks = ", ranks);
    auto with = [&](cuda::Looping looping) {
      cuda::Options o;
      o.looping = looping;
      return test::cuda_engine(ranks, o);
    };
    // A tolerance that ends it inside a chunk, and one that is never met: more iterations than a WHILE node runs at once.
    for (auto [limit, most] : {std::pair{1e-10, 300}, std::pair{0.0, 1511}}) {
      auto graph = with(cuda::Looping::graph);
      Run a = solve(*graph, 24, 24, 24, limit, most);
      for (cuda::Looping looping : {cuda::Looping::launches, cuda::Looping::while_graph}) {
        auto other = with(looping);
        Run b = solve(*other, 24, 24, 24, limit, most);
        CHECK(same_bits(a.history[0], b.history[0]));
        CHECK(same_bits(a.x[0], b.x[0]));
        CHECK(a.outcome[0].iterations == b.outcome[0].iterations);
      }
    }
  }
}

TEST("a scalar that was made after a loop was captured keeps its value while the loop is replayed") {
  test::need_gpu();
  auto gpu = test::cuda_engine(1);
  std::vector<double> kept;
  gpu->run(
      [&](Rank& rank) {
        Cg cg(rank, 12, 12, 16, 10);
        auto b = cg.right_hand_side();
        cg.solve(b.data(), 1e-9, 500);
        Scal late = rank.scalar("late", 3.5);
        for (int most : {5, 25, 45, 65, 85}) {  // chunks in odd and even numbers
          cg.solve(b.data(), 1e-300, most);
          kept.push_back(rank.get(late));
        }
      },
      {});
  CHECK(kept == std::vector<double>(5, 3.5));
}

TEST("cg: 300 solves make no allocation and no graph, and no call an iteration") {
  test::need_gpu();
  for (int ranks : {1, 2}) {
    NOTE("ranks = ", ranks);
    auto gpu = test::cuda_engine(ranks);
    std::vector<cuda::Counters> first(ranks), last(ranks);
    std::vector<int> iterations(ranks);
    gpu->run(
        [&](Rank& rank) {
          Cg cg(rank, 12, 12, 16, 10);
          auto b = cg.right_hand_side();
          auto once = [&](int k) {
            for (auto& v : b) v *= 1 + 1e-3 * (k % 7);
            return cg.solve(b.data(), 1e-9, 500).iterations;
          };
          for (int k = 0; k < 3; k++) once(k);  // odd and even numbers of iterations leave scalars rotated differently
          first[rank.id()] = gpu->counters(rank.id());
          for (int k = 0; k < 300; k++) iterations[rank.id()] += once(k);
          last[rank.id()] = gpu->counters(rank.id());
        },
        {});
    for (int r = 0; r < ranks; r++) {
      auto &a = first[r], &b = last[r];
      CHECK(b.allocations == a.allocations);
      i64 replays = b.replays - a.replays, chunks = b.chunks - a.chunks, calls = b.calls_in_replays - a.calls_in_replays;
      i64 single = b.single_calls - a.single_calls;
      NOTE("rank ", r, ": ", iterations[r], " iterations, ", replays, " replays, ", chunks, " chunks, ", calls, " calls, ",
           single, " of them for single launches");
      CHECK(iterations[r] > 300 * 10);
      // One upload a replay, one launch a chunk of a loop; the two single commands of Begin and Wait, each with its mark.
      if (ranks == 1) CHECK(calls - single <= replays + chunks);
      if (ranks == 1) CHECK(single == 300 * 3);
    }
  }
}

TEST("cg: epochs may begin anywhere, also just before they wrap around") {
  test::need_gpu();
  auto reference = test::cuda_engine(2);
  Run a = solve(*reference, 16, 16, 8, 1e-10, 300);
  for (u32 first : {0x7fffffe0u, 0xffffffe0u, 0x7fffffffu, 0xffffffffu}) {
    for (bool spin : {false, true}) {
      NOTE("first epoch ", first, spin ? ", spinning" : "");
      cuda::Options o = spin ? test::spinning(1000) : cuda::Options{};
      if (spin) o.most_blocks = 4;
      o.first_epoch = first;
      auto gpu = test::cuda_engine(2, o);
      Run b = solve(*gpu, 16, 16, 8, 1e-10, 300);
      CHECK(b.outcome[0].verdict == met);
      if (!spin) CHECK(a.history[0] == b.history[0]);
      same_on_all_ranks(b);
    }
  }
}

TEST("cg: a stop request ends the loop on all ranks at the same iteration, also where hosts are slower than devices") {
  test::need_gpu();
  for (int ranks : {1, 3})
    for (bool slow : {false, true}) {
      NOTE("ranks = ", ranks, slow ? ", slow hosts" : "");
      cuda::Options o;
      if (slow) {  // what is launched has ended whenever a host looks
        o.inject.rank = 0;
        o.inject.before = [](Rank&, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
      }
      auto gpu = test::cuda_engine(ranks, o);
      Run run;
      run.outcome.resize(ranks);
      run.history.resize(ranks);
      const int most = slow ? 20000 : 2000000;
      gpu->run(
          [&](Rank& rank) {
            Cg cg(rank, 64, 64, 48, 1e6);  // long enough for the request to come before the residual is zero
            auto b = cg.right_hand_side();
            run.outcome[rank.id()] = cg.solve(b.data(), 0, most);
            run.history[rank.id()] = rank.history;
          },
          [&] {
            if (gpu->progress().iteration > 100) gpu->request_stop();
          });
      CHECK(run.outcome[0].verdict == asked_to_stop);
      CHECK(run.outcome[0].iterations > 100);
      CHECK(run.outcome[0].iterations < most);
      CHECK(i64(run.history[0].size()) == run.outcome[0].iterations);
      same_on_all_ranks(run);
    }
}
