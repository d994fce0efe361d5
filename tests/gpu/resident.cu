// A kernel that stays for a chunk of iterations does what the same commands do when they are launched one by one: to the last
// bit where both have the same blocks, and to rounding where they have others.
#include <cmath>
#include <cstring>

#include "../conformance/problems.hpp"
#include "forms.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;
using cuda::Looping;

namespace {

using StayingKernels = KernelList<Kernel<Nothing>, Kernel<test::Blend>, Kernel<test::Keep, test::Below>, Kernel<test::Damp>>;

struct Run {
  Report report;
  std::vector<double> x;
  i64 stayed = 0;  // chunks
};

constexpr int too_long_for_a_graph = 5000;  // iterations: then launches of the same grids follow each other

struct Way {
  Looping looping = Looping::resident;
  bool by_single_launches = false;  // of the same grids
  int most_blocks = 0;
};

Run solve(const CsrMatrix& A, const Options& options, int ranks, const Way& way) {
  cuda::enable_kernels();
  cuda::Options o;
  o.looping = way.looping;
  if (way.by_single_launches) o.chunk = too_long_for_a_graph;
  o.most_blocks = way.most_blocks;
  EngineChoice choice;
  auto engine = test::cuda_engine(ranks, o);
  cuda::CudaEngine& gpu = *engine;
  choice.engine = std::move(engine);
  Solver solver(A.view(), options, std::move(choice));
  Run run;
  run.x.resize(std::size_t(A.n));
  std::vector<double> b(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++) b[std::size_t(i)] = std::sin(double(i) * 0.37) + 0.25;
  run.report = solver.solve(b.data(), run.x.data());
  run.stayed = gpu.counters(0).stayed;
  return run;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::vector<int> rank_counts() {
  test::need_gpu();
  std::vector<int> counts;
  for (int r : {1, 2, 4})
    if (r <= int(cuda::device_report().devices.size())) counts.push_back(r);
  return counts;
}

}  // namespace

TEST("resident: every method takes the iterations that launches take, with the bits of single launches of the same grids") {
  for (int ranks : rank_counts())
    for (int edge : {5, 17, 32}) {
      CsrMatrix A = poisson(edge, edge + 1, edge + 2, 27, 1.0);
      for (std::string method : {"cg", "cgcg", "prcg", "gropp", "pcg1", "pcg2", "pcg-overlap", "bicgstab", "pipebicgstab"}) {
        NOTE(method, ", ", ranks, " ranks, edge ", edge);
        Options options;
        options.solver = method;
        options.storage = "csr";  // kernels stay for products by rows
        options.deterministic = "off";
        options.rtol = 1e-8;
        Run stays = solve(A, options, ranks, {}), launched = solve(A, options, ranks, {Looping::launches}),
            single = solve(A, options, ranks, {Looping::resident, true});
        CHECK(stays.report.status == Status::converged);
        CHECK(stays.stayed > 0);
        CHECK(launched.stayed == 0);
        CHECK(std::abs(stays.report.iterations - launched.report.iterations) <= 2);
        CHECK(same(stays.x, single.x));
        CHECK(same(stays.report.history, single.report.history));
      }
    }
}

TEST("resident: fewer blocks than rows need, or one, change nothing but rounding") {
  CsrMatrix A = poisson(20, 21, 22, 7, 1.0);
  Options options;
  options.solver = "cg";
  options.storage = "csr";
  options.rtol = 1e-9;
  for (int ranks : rank_counts())
    for (int blocks : {1, 2, 7, 100}) {
      NOTE(ranks, " ranks, ", blocks, " blocks");
      Run stays = solve(A, options, ranks, {Looping::resident, false, blocks}),
          single = solve(A, options, ranks, {Looping::resident, true, blocks});
      CHECK(stays.report.status == Status::converged);
      CHECK(stays.stayed > 0);
      CHECK(same(stays.x, single.x));
    }
}

TEST("resident: rows here and there, rotations and commands of some iterations give what launches give") {
  cuda::enable_resident(StayingKernels{});
  for (int ranks : rank_counts())
    for (bool scattered : {false, true})
      for (int every : {0, 3})
        for (auto [max, limit] : {std::pair{200, -1e300}, std::pair{200, 250.0}, std::pair{17, -1e300}}) {
          NOTE(ranks, " ranks, scattered ", scattered, ", every ", every, ", at most ", max);
          std::vector<std::vector<double>> found[2];
          Outcome outcome[2];
          for (int k : {0, 1}) {
            cuda::Options o;
            o.looping = Looping::resident;
            if (k == 1) o.chunk = too_long_for_a_graph;
            auto gpu = test::cuda_engine(ranks, o);
            found[k].resize(std::size_t(ranks));
            gpu->run([&](Rank& rank) {
              Outcome ended = test::blend(rank, found[k][std::size_t(rank.id())], scattered, max, limit, every);
              if (rank.id() == 0) outcome[k] = ended;
            });
            CHECK((gpu->counters(0).stayed > 0) == (k == 0));
          }
          CHECK(outcome[0].iterations == outcome[1].iterations);
          CHECK(outcome[0].verdict == outcome[1].verdict);
          for (int r = 0; r < ranks; r++) CHECK(same(found[0][std::size_t(r)], found[1][std::size_t(r)]));
        }
}

TEST("resident: ten thousand small solves in a row") {
  CsrMatrix A = poisson(8, 8, 8, 7, 1.0);
  for (int ranks : rank_counts()) {
    NOTE(ranks, " ranks");
    cuda::enable_kernels();
    cuda::Options o;
    o.looping = Looping::resident;
    EngineChoice choice;
    choice.engine = test::cuda_engine(ranks, o);
    Options options;
    options.solver = "cg";
    options.storage = "csr";
    options.rtol = 1e-8;
    Solver solver(A.view(), options, std::move(choice));
    std::vector<double> b(std::size_t(A.n), 1.0), x(b.size()), first;
    for (int k = 0; k < 10000; k++) {
      Report report = solver.solve(b.data(), x.data());
      if (k == 0) first = x;
      REQUIRE(report.status == Status::converged);
      REQUIRE(same(x, first));
    }
  }
}
