// The cuda engine over several MPI processes of one host, with one GPU for each rank: the same results, to the bit where that
// is promised, as in one process; and one cause of a failure, in all processes.
#include <chrono>
#include <thread>

#include "conformance/mpi_world.hpp"
#include "conformance/problems.hpp"
#include "grid.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

using test::gpus;

/// Ranks of each process for which there are GPUs; skips the test where there are not even enough for one.
std::vector<int> ranks_per_process() {
  if (gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", gpus());
  std::vector<int> all{1};
  if (gpus() >= 2 * processes()) all.push_back(2);
  return all;
}

std::unique_ptr<cuda::CudaEngine> engine(int ranks, cuda::Options o = {}) {
  cuda::enable(traffic::Kernels{});
  cuda::enable(test::CgKernels{});
  if (o.timeout == 60) o.timeout = 20;
  return std::make_unique<cuda::CudaEngine>(o, mpi::hall(MPI_COMM_WORLD, ranks));
}

struct Failure {
  std::string cause = "no failure";
  double seconds = 0;
};

/// What a run, or the building of an engine, says here; all processes must say the same.
template <class Job>
Failure failure_of(const Job& job) {
  Failure f;
  auto begin = std::chrono::steady_clock::now();
  try {
    job();
  } catch (const Error& e) {
    f.cause = e.what();
  }
  f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  NOTE("process ", process(), " says: ", f.cause);
  CHECK(f.cause == of_the_last(f.cause));
  return f;
}

void solve_long(Rank& s) {
  test::Cg cg(s, 24, 24, 24, 10);
  for (int k = 0; k < 20; k++) cg.solve(cg.right_hand_side().data(), 0, 100);
}

void works() {
  auto e = engine(1);
  traffic::ring(*e);
}

/// Whatever it is that the last process's rank does not send.
void a_mute_rank_is_named(cuda::Options o) {
  for (const char* command : {"Stencil", "Update", "Direction"}) {
    NOTE(command);
    o.timeout = 2;
    o.inject = {.rank = processes() - 1, .command = command, .iteration = 7, .mute = true};
    auto e = engine(1, o);
    Failure f = failure_of([&] { e->run(solve_long, {}); });
    NOTE(f.cause);
    CHECK(f.cause.find("waited 2 s without any progress for rank ") != std::string::npos);
    CHECK(f.seconds < 15);
  }
  works();
}

problems::Solved solve_on(const CsrMatrix& A, const std::vector<double>& b, const Options& o, EngineChoice choice) {
  Solver solver(A.view(), o, std::move(choice));
  return problems::solve(solver, b);
}

}  // namespace

TEST("processes: messages, collectives and sums reach GPUs of other processes") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto e = engine(ranks);
    CHECK(e->size() == ranks * processes());
    CHECK(e->first_rank() == ranks * process());
    traffic::ring(*e);
    traffic::collectives(*e);
    traffic::sums(*e);
  }
}

TEST("processes: uneven ones") {
  ranks_per_process();
  if (gpus() < processes() + 1) SKIP("this needs a GPU more than processes");
  auto e = engine(process() == 0 ? 2 : 1);
  CHECK(e->size() == processes() + 1);
  traffic::ring(*e);
  traffic::collectives(*e);
}

TEST("processes: every method does what the host does, and has the bits of one process with as many ranks") {
  CsrMatrix A = poisson(19, 17, 23, 7, 100.0);
  std::vector<double> b(std::size_t(A.n));
  for (std::size_t i = 0; i < b.size(); i++) b[i] = 1 + double(i * 2654435761u % 1000) / 1000;
  for (int ranks : ranks_per_process())
    for (const char* method : {"cg", "prcg", "bicgstab", "gatherbicgstab"})
      for (const char* deterministic : {"off", "on"}) {
        NOTE(method, ", ", processes(), " processes of ", ranks, ", deterministic ", deterministic);
        Options o = problems::options(method, "cuda", ranks);
        o.deterministic = deterministic;
        Solver solver(A.view(), o);
        CHECK(solver.ranks() == ranks * processes());
        CHECK(solver.transport() == (ranks == 1 ? "CUDA IPC" : "peer memory and CUDA IPC"));
        auto ours = problems::solve(solver, b), again = problems::solve(solver, b);
        CHECK(ours.report.status == Status::converged);
        CHECK(agree(ours.report.residual_norm));
        CHECK(agree(ours.report.iterations));
        CHECK(problems::same_bits(ours.report.history, again.report.history));
        if (process() == 0) {
          o.ranks = solver.ranks();
          auto alone = solve_on(A, b, o, cuda::make_engine(o, {}, nullptr));
          CHECK(problems::same_bits(ours.report.history, alone.report.history));
          CHECK(problems::same_bits(ours.x, alone.x));
          CHECK(ours.report.ledger.same_counts(alone.report.ledger));
          auto host = solve_on(A, b, o, {std::make_unique<host::HostEngine>(host::Options{.ranks = o.ranks}), "threads"});
          bool hangs_on_last_bits = o.deterministic == "off" && !sordino::method(method).needs_spd;
          if (!hangs_on_last_bits) CHECK(std::abs(ours.report.iterations - host.report.iterations) <= 1);
          if (o.deterministic == "on") CHECK(problems::same_bits(ours.x, host.x));
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
}

TEST("processes: 200 small solves with new values neither hang nor grow") {
  ranks_per_process();
  CsrMatrix A = poisson(12, 11, 10, 7, 10.0);
  Options o = problems::options("cg", "cuda", 1);
  Solver solver(A.view(), o);
  std::vector<std::vector<double>> values(2, A.values);
  for (double& v : values[1]) v *= 2;
  std::vector<i64> held;
  for (int k = 0; k < 200; k++) {
    solver.update_values(values[std::size_t(k % 2)].data());
    auto s = problems::solve(solver, std::vector<double>(std::size_t(A.n), 1.0 + k));
    REQUIRE(s.report.status == Status::converged);
    if (k == 20) held = solver.memory();
  }
  CHECK(solver.memory() == held);
}

TEST("processes: a time limit ends all of them in the same iteration") {
  ranks_per_process();
  CsrMatrix A = poisson(40, 40, 40, 7, 1e5);
  Options o = problems::options("cg", "cuda", 1);
  o.rtol = 1e-250;
  o.maxiter = 1000000;
  o.time_limit = 0.05;
  Solver solver(A.view(), o);
  for (int k = 0; k < 10; k++) {
    auto s = problems::solve(solver, std::vector<double>(std::size_t(A.n), 1.0));
    CHECK(agree(s.report.iterations));
    CHECK(agree(s.report.residual_norm));
  }
}

TEST("processes: collectives of host data, of any size") {
  for (int ranks : ranks_per_process()) {
    auto e = engine(ranks);
    e->run(
        [](Rank& s) {
          Communicator c(s, 3);
          for (std::size_t words : {std::size_t(0), std::size_t(1), std::size_t(1000), std::size_t(700000)}) {
            std::vector<double> mine(words, s.id() + 1.0);
            for (auto& sum : {c.all_reduce(mine), c.all_reduce(mine, Fold::sum, {.algorithm = Algorithm::two_level})}) {
              REQUIRE(sum.size() == words);
              for (double x : sum) REQUIRE(x == 0.5 * s.size() * (s.size() + 1));
            }
            auto all = c.all_gather(mine);
            for (int r = 0; r < s.size(); r++) REQUIRE(all[std::size_t(r)] == std::vector<double>(words, r + 1.0));
            auto from_last = c.broadcast(mine, s.size() - 1);
            REQUIRE(from_last == std::vector<double>(words, double(s.size())));
          }
          c.barrier();
        },
        {});
  }
}

TEST("processes: a rank that throws ends all of them with its words, and a new engine works") {
  for (int ranks : ranks_per_process()) {
    auto e = engine(ranks);
    Failure f = failure_of([&] {
      e->run(
          [](Rank& s) {
            test::Cg cg(s, 16, 16, 16, 10);
            cg.solve(cg.right_hand_side().data(), 1e-10, 100);
            if (s.id() == s.size() - 1) throw Error(Errc::io, "out of paper");
            cg.solve(cg.right_hand_side().data(), 1e-10, 100);
          },
          {});
    });
    CHECK(f.cause == "rank " + std::to_string(e->size() - 1) + ": out of paper");
    CHECK(f.seconds < 10);
    CHECK_THROWS(e->run([](Rank&) {}, {}), Error, "these ranks have failed before");
  }
  works();
}

TEST("processes: a rank that sends nothing is named alike in all of them") {
  ranks_per_process();
  a_mute_rank_is_named({});
}

TEST("processes: who sends no blocks of a deterministic sum is named alike in all of them") {
  ranks_per_process();
  cuda::enable<cuda::SumOrder::fixed>(test::CgKernels{});
  cuda::Options o;
  o.timeout = 2;
  o.deterministic = true;
  o.inject = {.rank = processes() - 1, .command = "Update", .iteration = 7, .mute = true};
  auto e = engine(1, o);
  Failure f = failure_of([&] { e->run(solve_long, {}); });
  NOTE(f.cause);
  std::string mute = "rank " + std::to_string(processes() - 1);
  CHECK((f.cause.find("for " + mute + "'s part of the reduction") != std::string::npos || f.cause.starts_with(mute + ": ")));
}

TEST("processes: NCCL between them brings the same, and who sends nothing is named alike in all of them") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    std::unique_ptr<cuda::CudaEngine> e;
    try {
      e = engine(ranks, test::by_nccl());
    } catch (const Error& error) {
      std::string why = error.what();
      if (why.find("there is no NCCL here") != std::string::npos) SKIP(why);
      throw;
    }
    CHECK(e->carrier(0, 1) == Carrier::nccl);
    traffic::ring(*e);
    traffic::collectives(*e);
    traffic::sums(*e);
    e->run(
        [](Rank& s) {
          test::Cg cg(s, 16, 16, 16, 10);
          for (int k = 0; k < 5; k++) CHECK(cg.solve(cg.right_hand_side().data(), 1e-10, 300).verdict == met);
        },
        {});
  }
  a_mute_rank_is_named(test::by_nccl());
}

TEST("processes: a slow one that lives is no fault") {
  ranks_per_process();
  cuda::Options o;
  o.timeout = 2;
  auto e = engine(1, o);
  e->run(
      [](Rank& s) {
        test::Cg cg(s, 16, 16, 16, 10);
        for (int k = 0; k < 5; k++) {
          if (s.id() == k % s.size()) std::this_thread::sleep_for(std::chrono::milliseconds(500));
          cg.solve(cg.right_hand_side().data(), 1e-10, 100);
        }
      },
      {});
}

TEST("processes: what one of them cannot do is said by all") {
  ranks_per_process();
  bool last = process() == processes() - 1;
  std::string who = "process " + std::to_string(processes() - 1) + ": ";
  cuda::Options absent, same, crowd;
  if (last) absent.devices = {99};
  CHECK(failure_of([&] { engine(1, absent); }).cause.starts_with(who + "there is no device 99: this machine has "));
  same.devices = {0};
  CHECK(failure_of([&] { engine(1, same); }).cause.find("in different processes and on the same GPU") != std::string::npos);
  if (last) crowd.devices = {process()};
  std::string said = failure_of([&] { engine(last ? 2 : 1, crowd); }).cause;
  CHECK(said == who +
                    "where several processes work together every rank needs a GPU of its own, and here are 2 ranks for 1: "
                    "start fewer ranks, or one process, whose ranks can share a GPU");
  works();
}

TEST("processes: engines over parts of the communicator work beside each other") {
  ranks_per_process();
  cuda::enable(traffic::Kernels{});
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, process() % 2, process(), &part);
  {
    cuda::Options o;
    o.timeout = 20;
    o.devices = {process()};  // one for this process alone
    cuda::CudaEngine e(o, mpi::hall(part, 1));
    CHECK(e.size() == processes() / 2);
    if (e.size() > 1) traffic::ring(e);
    traffic::collectives(e);
    CsrMatrix A = poisson(9, 8, 17, 7, 10.0);
    Options of_solver = problems::options("cg", "cuda", 1);
    Solver solver(A.view(), of_solver, cuda::make_engine(of_solver, {process()}, mpi::hall(part, 1)));
    CHECK(solver.ranks() == processes() / 2);
    CHECK(problems::solve(solver, std::vector<double>(std::size_t(A.n), 1.0)).report.status == Status::converged);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&part);
}

TEST("processes: on one GPU in turns, in small grids") {
  if (gpus() < 1) SKIP("no GPU: ", cuda::device_report().reason);
  if (processes() > 2) SKIP("two are enough: each waits for its turn on the GPU");
  cuda::Options o;
  o.devices = {0};
  o.sharing = cuda::Sharing::never;
  o.most_blocks = 8;
  o.timeout = 30;
  auto e = engine(1, o);
  traffic::ring(*e);
  e->run(
      [](Rank& s) {
        test::Cg cg(s, 16, 16, 16, 10);
        CHECK(cg.solve(cg.right_hand_side().data(), 1e-6, 60).iterations > 10);
      },
      {});
}
