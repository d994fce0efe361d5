// NCCL between the ranks of the cuda engine: the same bits as through memory, and one cause of a failure, in bounded time.
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/problems.hpp"
#include "failing.hpp"
#include "grid.hpp"
#include "hops.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using test::by_nccl;
using test::Cg;
using test::fail;
using test::Failure;

namespace {

struct Run {
  std::vector<Outcome> outcome;
  std::vector<std::vector<double>> history, x;
  std::vector<Ledger> ledger;
};

Run solve(Engine& engine, double limit, int max, int solves = 1) {
  std::size_t n = std::size_t(engine.size());
  Run run{std::vector<Outcome>(n), std::vector<std::vector<double>>(n), std::vector<std::vector<double>>(n),
          std::vector<Ledger>(n)};
  engine.run(
      [&](Rank& rank) {
        std::size_t r = std::size_t(rank.id());
        Cg cg(rank, 24, 22, 26, 100);
        auto b = cg.right_hand_side();
        for (int k = 0; k < solves; k++) run.outcome[r] = cg.solve(b.data(), limit, max);
        run.history[r] = rank.history;
        run.x[r] = cg.solution();
        run.ledger[r] = rank.ledger;
      },
      {});
  return run;
}

void same(const Run& a, const Run& b) {
  for (std::size_t r = 0; r < a.x.size(); r++) {
    NOTE("rank ", r, ", iterations ", a.outcome[r].iterations, " and ", b.outcome[r].iterations);
    CHECK(a.outcome[r].verdict == b.outcome[r].verdict);
    CHECK(a.outcome[r].iterations == b.outcome[r].iterations);
    CHECK(problems::same_bits(a.history[r], b.history[r]));
    CHECK(problems::same_bits(a.x[r], b.x[r]));
    CHECK(a.ledger[r].same_counts(b.ledger[r]));
  }
}

/// Everybody's rows of a replicated vector.
Exchange gathering(int rank, int ranks, i32 rows) {
  Exchange x;
  x.everybody = true;
  for (int q = 0; q < ranks; q++)
    if (q != rank)
      x.peers.push_back({.rank = q,
                         .recv_first = q * rows,
                         .recv_count = rows,
                         .send_count = rows,
                         .send_rows = {},
                         .send_first = rank * rows,
                         .remote_first = rank * rows,
                         .remote_index = rank < q ? rank : rank - 1});
  x.producer.first = {{rank * rows, (rank + 1) * rows}};
  return x;
}

void works(int ranks) {
  auto gpu = test::cuda_engine(ranks, by_nccl());
  CHECK(solve(*gpu, 1e-10, 300).outcome[0].verdict == met);
}

cuda::Options impatient() {
  cuda::Options o = by_nccl();
  o.timeout = 0.5;
  return o;
}

}  // namespace

TEST("nccl: solves have the bits, the iterations and the counts of those through memory") {
  test::need_nccl();
  for (int ranks = 2; ranks <= test::gpus(); ranks++) {
    NOTE(ranks, " ranks");
    auto memory = test::cuda_engine(ranks), nccl = test::cuda_engine(ranks, by_nccl());
    CHECK(nccl->carrier(0, 1) == Carrier::nccl);
    same(solve(*nccl, 1e-12, 400, 3), solve(*memory, 1e-12, 400, 3));
  }
}

TEST("nccl: a loop that runs to its maximum stops exactly there, and is drained") {
  test::need_nccl();
  auto memory = test::cuda_engine(2), nccl = test::cuda_engine(2, by_nccl());
  for (int max : {1, 2, 3, 19, 20, 21, 47}) {
    NOTE("max = ", max);
    same(solve(*nccl, 0, max, 2), solve(*memory, 0, max, 2));
  }
}

TEST("nccl: messages and collectives on vectors arrive") {
  test::need_nccl();
  cuda::enable(traffic::Kernels{});
  for (int ranks = 2; ranks <= test::gpus(); ranks++) {
    NOTE(ranks, " ranks");
    auto gpu = test::cuda_engine(ranks, by_nccl());
    traffic::ring(*gpu);
    traffic::collectives(*gpu);
    traffic::sums(*gpu);
  }
}

TEST("nccl: commands behind the end of a loop bring nothing") {
  test::need_nccl();
  cuda::enable(traffic::Kernels{});
  cuda::enable(KernelList<Kernel<traffic::Fill, test::Converged>>{});
  constexpr i32 rows = 300;
  int ranks = test::gpus();
  auto gpu = test::cuda_engine(ranks, by_nccl());
  gpu->run(
      [&](Rank& s) {
        Space space;
        space.replicated = true;
        space.n_global = space.rows = rows * ranks;
        Exchange x = gathering(s.id(), ranks, rows);
        int everywhere = s.add_space(space), here = traffic::local_space(s, rows * ranks);
        Vec p = s.vector("p", everywhere, &x), w = s.vector("w", here);
        Scal round = s.scalar("round", 1), next = s.scalar("next"), counted = s.scalar("counted"), rr = s.scalar("rr", 0);
        std::vector<double> words(std::size_t(space.rows)), found(words.size());
        for (std::size_t i = 0; i < words.size(); i++) words[i] = 1 + double(i);
        s.write(p, words.data());
        auto loop = s.loop({}, [&] {
          s.exit_if(test::Converged{rr, 1e-10});
          s.run(traffic::Fill{p, round, double(s.id())}, push(p));
          s.run_over(everywhere, traffic::CopyWhole{p, w});
          s.run(traffic::CountRound{w, round, next}, start(counted));
          s.wait(counted);
        });
        Outcome outcome = s.replay(loop, 30);
        CHECK(outcome.verdict == met);
        CHECK(outcome.iterations == 1);
        s.read(p, found.data());
        CHECK(found == words);
      },
      {});
}

TEST("nccl: every kind of method has the bits of memory, in both orders of sums") {
  test::need_nccl();
  cuda::enable_kernels();
  CsrMatrix A = poisson(19, 17, 23, 7, 100.0);
  std::vector<double> b(std::size_t(A.n));
  for (std::size_t i = 0; i < b.size(); i++) b[i] = 1 + double(i * 2654435761u % 1000) / 1000;
  int ranks = std::min(test::gpus(), 4);
  for (const char* method : {"cg", "prcg", "bicgstab", "gatherbicgstab"})
    for (bool fixed : {false, true}) {
      NOTE(method, fixed ? ", fixed order" : "");
      Options o = problems::options(method, "cuda", ranks);
      o.deterministic = fixed ? "on" : "off";
      auto solved = [&](cuda::Options of_engine) {
        of_engine.deterministic = fixed;
        Solver solver(A.view(), o, EngineChoice{test::cuda_engine(ranks, of_engine), "given"});
        return problems::solve(solver, b);
      };
      auto nccl = solved(by_nccl()), memory = solved({});
      CHECK(nccl.report.status == Status::converged);
      CHECK(problems::same_bits(nccl.report.history, memory.report.history));
      CHECK(problems::same_bits(nccl.x, memory.x));
    }
}

TEST("nccl: the hop of the dslash, which sends before it waits, has the bits of memory") {
  test::need_nccl();
  cuda::enable_kernels();
  std::vector<hops::Coords> grids{{1, 1, 1, 2}, {2, 1, 1, 1}};
  if (test::gpus() >= 4) grids.insert(grids.end(), {{1, 2, 2, 1}, {2, 1, 1, 2}});
  for (auto& grid : grids) {
    NOTE(hops::to_string(grid));
    int ranks = grid[0] * grid[1] * grid[2] * grid[3];
    auto memory = test::cuda_engine(ranks), nccl = test::cuda_engine(ranks, by_nccl());
    for (auto precision : {hops::Precision::double_precision, hops::Precision::single_precision}) {
      hops::Case c{{{4, 4, 4, 8}, true}, grid, precision, 12};
      auto words = hops::run(*nccl, c), expected = hops::run(*memory, c);
      for (std::size_t k = 0; k < words.size(); k++) CHECK(problems::same_bits(words[k], expected[k]));
    }
  }
}

TEST("nccl: epochs wrap around, commands are timed, a request to stop reaches all ranks, and a late rank is waited for") {
  test::need_nccl();
  for (u32 first : {0x7fffffe0u, 0xffffffe0u, 0x7fffffffu}) {
    NOTE("first epoch ", first);
    cuda::Options o = by_nccl();
    o.first_epoch = first;
    auto wrapping = test::cuda_engine(2, o), plain = test::cuda_engine(2, by_nccl());
    same(solve(*wrapping, 1e-10, 300), solve(*plain, 1e-10, 300));
  }
  cuda::Options timed = by_nccl(), late = by_nccl();
  timed.time_commands = true;
  CHECK(solve(*test::cuda_engine(2, timed), 1e-10, 300).ledger[0].kernels["Update"].calls > 0);
  late.inject = {.rank = 1, .command = "Update", .iteration = 5, .delay = 0.02};
  CHECK(solve(*test::cuda_engine(2, late), 1e-10, 300).outcome[0].verdict == met);
  auto gpu = test::cuda_engine(2, by_nccl());
  std::vector<Outcome> outcome(2);
  gpu->run(
      [&](Rank& rank) {
        Cg cg(rank, 64, 64, 48, 1e6);
        outcome[std::size_t(rank.id())] = cg.solve(cg.right_hand_side().data(), 0, 2000000);
      },
      [&] {
        if (gpu->progress().iteration > 100) gpu->request_stop();
      });
  CHECK(outcome[0].verdict == asked_to_stop);
  CHECK(outcome[0].iterations == outcome[1].iterations);
}

TEST("nccl: a rank that sends nothing is named by what waited for it, and all ranks fail") {
  test::need_nccl();
  int ranks = std::min(test::gpus(), 3);
  for (const char* command : {"Stencil", "Update", "Direction"}) {
    NOTE(command);
    cuda::Options o = impatient();
    o.inject = {.rank = 1, .command = command, .iteration = 7, .mute = true};
    auto gpu = test::cuda_engine(ranks, o);
    Failure f = fail(*gpu, [](Rank&, Cg& cg, const std::vector<double>& b) { cg.solve(b.data(), 0, 100); });
    NOTE(f.cause);
    CHECK(f.seconds < 10);
    CHECK(f.cause.find(std::string("command ") + command + ", iteration 7: ") != std::string::npos);
    CHECK(f.cause.find("waited 0.5 s without any progress for rank 1's ") != std::string::npos);
    CHECK_THROWS(gpu->run([](Rank&) {}, {}), Error, "these ranks have failed before");
  }
  works(ranks);
}

TEST("nccl: a rank that throws between replays stops the others") {
  test::need_nccl();
  auto gpu = test::cuda_engine(2, impatient());
  Failure f = fail(*gpu, [](Rank& rank, Cg& cg, const std::vector<double>& b) {
    cg.solve(b.data(), 1e-10, 100);
    if (rank.id() == 1) throw std::runtime_error("out of coffee");
    cg.solve(b.data(), 1e-10, 100);
  });
  CHECK(f.cause == "rank 1: out of coffee");
  CHECK(f.seconds < 10);
  works(2);
}

TEST("nccl: a rank that never comes back is left behind") {
  test::need_nccl();
  auto gpu = test::cuda_engine(2, impatient());
  std::atomic<bool> release{false}, left{false};
  struct Leaving {
    std::atomic<bool>* flag;
    ~Leaving() {
      if (flag) *flag = true;
    }
  };
  std::function<void(Rank&)> job = [&](Rank& rank) {  // who is left behind still uses it
    Leaving leaving{rank.id() == 1 ? &left : nullptr};
    Cg cg(rank, 16, 16, 16, 10);
    auto b = cg.right_hand_side();
    cg.solve(b.data(), 0, 60);
    while (rank.id() == 1 && !release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cg.solve(b.data(), 0, 60);
  };
  CHECK_THROWS(gpu->run(job, {}), Error, "waited 0.5 s without any progress for ");
  CHECK(gpu->has_lost_a_rank());
  release = true;
  while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  works(2);
}

TEST("nccl: where there is no library, a sentence says so") {
  CHECK_THROWS(cuda::Nccl("no such library"), Error, "there is no NCCL here: ");
  CHECK_THROWS(cuda::Nccl("libdl.so.2"), Error, "the NCCL here has no ncclGetVersion");
}

TEST("nccl: what cannot be is refused with a sentence") {
  test::need_nccl(1);
  cuda::Options o = by_nccl();
  o.devices = {0};
  o.ranks = 2;
  CHECK_THROWS(cuda::CudaEngine{o}, Error, "NCCL takes one rank a GPU, and here are 2 ranks for 1");
  o.sharing = cuda::Sharing::never;
  CHECK_THROWS(cuda::CudaEngine{o}, Error, "NCCL takes one rank a GPU, and here are 2 ranks for 1");
  if (test::gpus() < 2) return;
  o = by_nccl();
  o.ranks = 2;
  o.nccl = "no such library";
  CHECK_THROWS(cuda::CudaEngine{o}, Error, "there is no NCCL here: ");
}
