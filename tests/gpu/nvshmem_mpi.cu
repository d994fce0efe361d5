// NVSHMEM between processes of one rank each: the bits and the counts of CUDA IPC, and one cause of a failure in all of them;
// stored by kernels where they reach the others' memory, and brought by NVSHMEM as if they did not; on one host, and with every
// process on what counts as a host of its own.
#include <cstdlib>

#include "conformance/mpi_world.hpp"
#include "conformance/problems.hpp"
#include "grid.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/nvshmem.hpp"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

constexpr u64 small = 64 << 20;  // bytes of an arena

struct Way {
  const char* what;
  bool far = false;
  int host = -1;  // of this process
};

/// Skips the test where processes have no GPU each, or no NVSHMEM: SORDINO_NVSHMEM names the library.
std::vector<Way> ways() {
  if (test::gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", test::gpus());
  const char* path = std::getenv("SORDINO_NVSHMEM");
  std::string missing;
  try {
    cuda::Nvshmem found(path ? path : "");
  } catch (const Error& e) {
    missing = e.what();
  }
  if (!missing.empty()) SKIP(missing);
  setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 1);  // there is one host, whatever is said
  return {{"stored"}, {"brought", true}, {"stored, from host to host", false, process()}, {"brought so", true, process()}};
}

std::unique_ptr<cuda::CudaEngine> engine(const Way& way, cuda::Options o = {}, int ranks = 1) {
  cuda::enable(traffic::Kernels{});
  cuda::enable(test::CgKernels{});
  if (o.timeout == 60) o.timeout = 20;
  if (o.links == cuda::Links::automatic) o.links = cuda::Links::nvshmem;
  if (o.arena == 0) o.arena = small;
  o.all_far = way.far;
  return std::make_unique<cuda::CudaEngine>(o, mpi::hall(MPI_COMM_WORLD, ranks, way.host),
                                            way.host < 0 ? nullptr : mpi::transport(MPI_COMM_WORLD, ranks));
}

struct Run {
  Outcome outcome;
  std::vector<double> history, x;
  Ledger ledger;
};

Run solve(cuda::CudaEngine& e, double limit = 1e-10, int max = 300, int solves = 3) {
  Run run;
  e.run(
      [&](Rank& s) {
        test::Cg cg(s, 24, 22, 26, 100);
        for (int k = 0; k < solves; k++) run.outcome = cg.solve(cg.right_hand_side().data(), limit, max);
        run.history = s.history;
        run.x = cg.solution();
        run.ledger = s.ledger;
      },
      {});
  return run;
}

void same(const Run& a, const Run& b) {
  CHECK(a.outcome.verdict == b.outcome.verdict);
  CHECK(a.outcome.iterations == b.outcome.iterations);
  CHECK(problems::same_bits(a.history, b.history));
  CHECK(problems::same_bits(a.x, b.x));
  CHECK(a.ledger.same_counts(b.ledger));
}

/// What all processes say of a run, or of the building of an engine.
template <class Job>
std::string cause_of(const Job& job) {
  std::string cause = "no failure";
  try {
    job();
  } catch (const Error& e) {
    cause = e.what();
  }
  NOTE("process ", process(), " says: ", cause);
  CHECK(cause == of_the_last(cause));
  return cause;
}

void solve_long(Rank& s) {
  test::Cg cg(s, 24, 24, 24, 10);
  for (int k = 0; k < 20; k++) cg.solve(cg.right_hand_side().data(), 0, 100);
}

}  // namespace

TEST("nvshmem: conjugate gradients have the bits and the counts of CUDA IPC") {
  auto all = ways();
  cuda::Options by_ipc;
  by_ipc.links = cuda::Links::memory;
  auto ipc = engine({"CUDA IPC"}, by_ipc);
  Run expected = solve(*ipc), short_one = solve(*ipc, 0, 21);
  CHECK(ipc->carrier(process(), (process() + 1) % processes()) == Carrier::cuda_ipc);
  for (auto& way : all) {
    NOTE(way.what);
    auto e = engine(way);
    CHECK(e->carrier(process(), (process() + 1) % processes()) == Carrier::nvshmem);
    Run run = solve(*e);
    same(run, expected);
    CHECK(run.ledger.carried[std::size_t(Carrier::nvshmem)].messages == expected.ledger.messages);
    CHECK(run.ledger.messages > 0);
    same(solve(*e, 0, 21), short_one);
  }
}

TEST("nvshmem: messages, collectives and sums arrive") {
  for (auto& way : ways()) {
    NOTE(way.what);
    auto e = engine(way);
    traffic::ring(*e);
    traffic::collectives(*e);
    traffic::sums(*e);
  }
}

TEST("nvshmem: methods have the bits of CUDA IPC, and the solver names who carries") {
  auto all = ways();
  CsrMatrix A = poisson(19, 17, 23, 7, 100.0);
  std::vector<double> b(std::size_t(A.n));
  for (std::size_t i = 0; i < b.size(); i++) b[i] = 1 + double(i * 2654435761u % 1000) / 1000;
  setenv("SORDINO_NVSHMEM_ARENA", "64", 1);
  for (const char* method : {"prcg", "gatherbicgstab"})
    for (const char* deterministic : {"off", "on"}) {
      NOTE(method, ", deterministic ", deterministic);
      auto solved = [&](const char* transport, const char* carries) {
        Options o = problems::options(method, "cuda", 1);
        o.deterministic = deterministic;
        o.transport = transport;
        Solver solver(A.view(), o, cuda::make_engine(o, {}, mpi::hall(MPI_COMM_WORLD, 1)));
        CHECK(solver.transport() == carries);
        return problems::solve(solver, b);
      };
      auto ours = solved("nvshmem", "nvshmem"), expected = solved("memory", "CUDA IPC");
      CHECK(ours.report.status == Status::converged);
      CHECK(problems::same_bits(ours.report.history, expected.report.history));
      CHECK(problems::same_bits(ours.x, expected.x));
    }
}

TEST("nvshmem: engines one after the other, and beside each other") {
  auto all = ways();
  Run expected;
  for (int k = 0; k < 6; k++) {
    NOTE("engine ", k);
    auto e = engine(all[std::size_t(k % 2)]);
    Run run = solve(*e);
    if (k > 0) same(run, expected);
    expected = run;
  }
  auto stored = engine(all[0]), brought = engine(all[1]);
  same(solve(*stored), solve(*brought));
  same(solve(*brought), solve(*stored));
}

TEST("nvshmem: epochs wrap around, and a late rank is waited for") {
  for (auto& way : ways()) {
    cuda::Options plain, wrapping, late;
    Run expected = solve(*engine(way, plain));
    for (u32 first : {0x7fffffe0u, 0xffffffe0u, 0x7fffffffu}) {
      NOTE(way.what, ", first epoch ", first);
      wrapping.first_epoch = first;
      same(solve(*engine(way, wrapping)), expected);
    }
    late.inject = {.rank = 1, .command = "Update", .iteration = 5, .delay = 0.02};
    same(solve(*engine(way, late)), expected);
  }
}

TEST("nvshmem: a request to stop reaches all processes in the same iteration") {
  for (auto& way : ways()) {
    NOTE(way.what);
    auto e = engine(way);
    Outcome outcome;
    e->run(
        [&](Rank& s) {
          test::Cg cg(s, 64, 64, 48, 1e6);
          outcome = cg.solve(cg.right_hand_side().data(), 0, 2000000);
        },
        [&] {
          if (process() == 0 && e->progress().iteration > 100) e->request_stop();
        });
    CHECK(outcome.verdict == asked_to_stop);
    CHECK(agree(outcome.iterations));
  }
}

TEST("nvshmem: a rank that sends nothing, and one that throws, are named alike in all processes, and a new engine works") {
  for (auto& way : ways()) {
    for (const char* command : {"Stencil", "Update", "Direction"}) {
      NOTE(way.what, ", ", command);
      cuda::Options o;
      o.timeout = 2;
      o.inject = {.rank = processes() - 1, .command = command, .iteration = 7, .mute = true};
      auto e = engine(way, o);
      std::string cause = cause_of([&] { e->run(solve_long, {}); });
      CHECK(cause.find("waited 2 s without any progress for rank ") != std::string::npos);
      CHECK_THROWS(e->run([](Rank&) {}, {}), Error, "these ranks have failed before");
    }
    {
      auto e = engine(way);
      std::string cause = cause_of([&] {
        e->run(
            [](Rank& s) {
              test::Cg cg(s, 16, 16, 16, 10);
              cg.solve(cg.right_hand_side().data(), 1e-10, 100);
              if (s.id() == s.size() - 1) throw Error(Errc::io, "out of paper");
              cg.solve(cg.right_hand_side().data(), 1e-10, 100);
            },
            {});
      });
      CHECK(cause == "rank " + std::to_string(processes() - 1) + ": out of paper");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(solve(*engine(way)).outcome.verdict == met);
  }
}

TEST("nvshmem: what cannot be is refused with a sentence by all processes") {
  auto all = ways();
  cuda::Options tiny, moved;
  tiny.arena = 2 << 20;
  std::string cause = cause_of([&] { engine(all[0], tiny)->run([](Rank& s) { test::Cg cg(s, 128, 128, 128, 10); }, {}); });
  CHECK(cause.find("NVSHMEM's arena of 2 MiB has no room for vector 'p': ") != std::string::npos);
  if (test::gpus() >= 2 * processes()) {
    cause = cause_of([&] { engine(all[0], {}, 2); });
    CHECK(cause.find("NVSHMEM takes one rank a process, and here are 2: start a process for each") != std::string::npos);
  }
  CHECK(solve(*engine(all[0])).outcome.verdict == met);
  for (int p = 0; p < processes(); p++) moved.devices.push_back((p + 1) % processes());
  cause = cause_of([&] { engine(all[0], moved); });
  CHECK(cause.find("until it ends, and not as rank ") != std::string::npos);
  CHECK(solve(*engine(all[0])).outcome.verdict == met);
}

TEST("nvshmem: where there is no library, a sentence says so") {
  CHECK_THROWS(cuda::Nvshmem("no such library"), Error, "there is no NVSHMEM here: ");
  CHECK_THROWS(cuda::Nvshmem("libdl.so.2"), Error, "the NVSHMEM here has no nvshmemx_vendor_get_version_info");
}
