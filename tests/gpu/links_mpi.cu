// The cuda engine over processes that share no memory: on one host through MPI, and on several hosts, which here are groups of
// processes that count as such: the results of one process, to the bit, and one cause of a failure in all.
#include "conformance/mpi_world.hpp"
#include "conformance/problems.hpp"
#include "grid.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

int gpus() { return int(cuda::device_report().devices.size()); }

/// How processes are apart.
struct Apart {
  std::string what;
  cuda::Links links = cuda::Links::automatic;
  int host = -1;  // of this process
};

std::vector<Apart> ways() {
  if (gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", gpus());
  std::vector<Apart> all{{"one host, through MPI", cuda::Links::host, -1},
                         {"every process on a host of its own", cuda::Links::automatic, process()}};
  if (processes() > 2) {
    all.push_back({"two hosts", cuda::Links::automatic, process() / (processes() / 2)});
    all.push_back({"a host of one process", cuda::Links::automatic, process() == 0 ? 0 : 1});
  }
  return all;
}

std::unique_ptr<cuda::CudaEngine> engine(const Apart& apart, int ranks = 1, cuda::Options o = {}) {
  cuda::enable(traffic::Kernels{});
  cuda::enable(test::CgKernels{});
  if (o.timeout == 60) o.timeout = 20;
  o.links = apart.links;
  return std::make_unique<cuda::CudaEngine>(o, mpi::hall(MPI_COMM_WORLD, ranks, apart.host),
                                            mpi::transport(MPI_COMM_WORLD, ranks));
}

std::string cause_of(cuda::CudaEngine& engine, const std::function<void(Rank&)>& job) {
  std::string cause = "no failure";
  try {
    engine.run(job, {});
  } catch (const Error& e) {
    cause = e.what();
  }
  NOTE("process ", process(), " says: ", cause);
  CHECK(cause == of_the_last(cause));
  return cause;
}

}  // namespace

TEST("links: messages, collectives and sums reach processes that share no memory") {
  for (auto& apart : ways())
    for (int ranks = 1; ranks * processes() <= gpus(); ranks *= 2) {
      NOTE(apart.what, ", ", processes(), " processes of ", ranks);
      auto e = engine(apart, ranks);
      int me = e->first_rank();
      int far = apart.what == "a host of one process" ? (process() == 0 ? e->size() - 1 : 0)
                : 2 * process() < processes()         ? e->size() - 1
                                                      : 0;
      CHECK(e->carrier(me, far) == Carrier::mpi);
      if (ranks > 1)
        CHECK(e->carrier(me, me + 1) == (apart.links == cuda::Links::host ? Carrier::host_memory : Carrier::peer_memory));
      if (apart.what == "two hosts") CHECK(e->carrier(me, process() % 2 ? me - 1 : me + 1) == Carrier::cuda_ipc);
      traffic::ring(*e);
      traffic::collectives(*e);
      traffic::sums(*e);
    }
}

TEST("links: solvers have the bits of one process, whatever is between the ranks") {
  CsrMatrix A = poisson(19, 17, 23, 7, 100.0);
  std::vector<double> b(std::size_t(A.n));
  for (std::size_t i = 0; i < b.size(); i++) b[i] = 1 + double(i * 2654435761u % 1000) / 1000;
  for (auto& apart : ways())
    for (const char* method : {"cg", "prcg", "gatherbicgstab"})
      for (const char* deterministic : {"off", "on"}) {
        NOTE(apart.what, ", ", method, ", deterministic ", deterministic);
        Options o = problems::options(method, "cuda", 1);
        o.deterministic = deterministic;
        o.transport = apart.links == cuda::Links::host ? "host" : "auto";
        Solver solver(A.view(), o,
                      cuda::make_engine(o, {}, mpi::hall(MPI_COMM_WORLD, 1, apart.host), mpi::transport(MPI_COMM_WORLD, 1)));
        auto ours = problems::solve(solver, b), again = problems::solve(solver, b);
        CHECK(ours.report.status == Status::converged);
        CHECK(agree(ours.report.residual_norm));
        CHECK(problems::same_bits(ours.report.history, again.report.history));
        if (process() == 0) {
          o.ranks = solver.ranks();
          o.transport = "auto";
          Solver alone(A.view(), o, cuda::make_engine(o, {}, nullptr));
          auto expected = problems::solve(alone, b);
          CHECK(problems::same_bits(ours.report.history, expected.report.history));
          CHECK(problems::same_bits(ours.x, expected.x));
          CHECK(ours.report.ledger.same_counts(expected.report.ledger));
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
}

TEST("links: collectives of host data, of any size") {
  for (auto& apart : ways()) {
    NOTE(apart.what);
    auto e = engine(apart);
    e->run(
        [](Rank& s) {
          Communicator c(s, 3);
          for (std::size_t words : {std::size_t(0), std::size_t(1), std::size_t(1000), std::size_t(300000)}) {
            std::vector<double> mine(words, s.id() + 1.0);
            auto sum = c.all_reduce(mine);
            REQUIRE(sum == std::vector<double>(words, 0.5 * s.size() * (s.size() + 1)));
            auto all = c.all_gather(mine);
            for (int r = 0; r < s.size(); r++) REQUIRE(all[std::size_t(r)] == std::vector<double>(words, r + 1.0));
          }
          c.barrier();
        },
        {});
  }
}

TEST("links: a rank that throws, and one that sends nothing, are named alike on all hosts") {
  for (auto& apart : ways()) {
    NOTE(apart.what);
    {
      auto e = engine(apart);
      std::string cause = cause_of(*e, [](Rank& s) {
        test::Cg cg(s, 16, 16, 16, 10);
        cg.solve(cg.right_hand_side().data(), 1e-10, 100);
        if (s.id() == s.size() - 1) throw Error(Errc::io, "out of paper");
        cg.solve(cg.right_hand_side().data(), 1e-10, 100);
      });
      CHECK(cause == "rank " + std::to_string(e->size() - 1) + ": out of paper");
      CHECK_THROWS(e->run([](Rank&) {}, {}), Error, "these ranks have failed before");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    cuda::Options o;
    o.timeout = 2;
    o.inject = {.rank = processes() - 1, .command = "Direction", .iteration = 7, .mute = true};
    auto e = engine(apart, 1, o);
    std::string cause = cause_of(*e, [](Rank& s) {
      test::Cg cg(s, 24, 24, 24, 10);
      for (int k = 0; k < 20; k++) cg.solve(cg.right_hand_side().data(), 0, 100);
    });
    CHECK(cause.find("waited 2 s without any progress for rank ") != std::string::npos);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
