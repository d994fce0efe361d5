// Recorded sums of GPUs by other ways than stores into everybody's memory: by the host, and by NCCL.
#include "failing.hpp"
#include "grid.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/recorded_sums.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/comm/counting.hpp"

using namespace sordino;
using test::Cg;

namespace {

constexpr Algorithm by_host[] = {Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level};

cuda::Options summed(cuda::Sums sums, cuda::Options o = {}) {
  o.sums = sums;
  return o;
}

std::unique_ptr<cuda::CudaEngine> engine_by_host(int ranks, Algorithm way, cuda::Options o = {}) {
  cuda::enable(counting::Kernels{});
  auto engine = test::cuda_engine(ranks, summed(cuda::Sums::by_host, o));
  sum_by(*engine, {.algorithm = way});
  return engine;
}

std::vector<double> history(Engine& engine, int solves = 2) {
  std::vector<double> first;
  engine.run(
      [&](Rank& rank) {
        Cg cg(rank, 20, 18, 22, 100);
        for (int k = 0; k < solves; k++) CHECK(cg.solve(cg.right_hand_side().data(), 1e-10, 400).verdict == met);
        if (rank.id() == 0) first = rank.history;
      },
      {});
  return first;
}

void need_two_gpus() {
  test::need_gpu();
  if (test::gpus() < 2) SKIP("two GPUs are needed, and here is ", test::gpus());
}

}  // namespace

TEST("summed: by the host whole numbers add up to the same by every way, through any links") {
  need_two_gpus();
  for (int ranks = 1; ranks <= std::min(4, test::gpus()); ranks++)
    for (Algorithm way : by_host)
      for (cuda::Links links : {cuda::Links::automatic, cuda::Links::host})
        for (cuda::Looping looping : {cuda::Looping::graph, cuda::Looping::launches, cuda::Looping::while_graph}) {
          NOTE(ranks, " ranks, ", name(way), ", links ", int(links), ", looping ", int(looping));
          cuda::Options o;
          o.links = links;
          o.looping = looping;
          o.first_epoch = 0x7ffffffd;
          counting::count(*engine_by_host(ranks, way, o), 3000, 25);
        }
}

TEST("summed: by the host solves take the iterations of those that push") {
  need_two_gpus();
  for (int ranks = 2; ranks <= std::min(4, test::gpus()); ranks++) {
    auto expected = history(*test::cuda_engine(ranks));
    for (Algorithm way : by_host) {
      NOTE(ranks, " ranks, ", name(way));
      auto got = history(*engine_by_host(ranks, way));
      CHECK(std::abs(int(got.size()) - int(expected.size())) <= 2);
      CHECK_NEAR(got[3], expected[3], 1e-12 * expected[3]);
    }
  }
}

TEST("summed: by NCCL the bits are those of pushed sums") {
  test::need_nccl();
  cuda::enable(counting::Kernels{});
  for (int ranks = 2; ranks <= std::min(4, test::gpus()); ranks++) {
    NOTE(ranks, " ranks");
    auto nccl = test::cuda_engine(ranks, summed(cuda::Sums::by_nccl, test::by_nccl()));
    CHECK(history(*nccl) == history(*test::cuda_engine(ranks)));
    counting::count(*nccl, 3000, 25);
  }
}

TEST("summed: a rank that hands in nothing is named, within the timeout") {
  need_two_gpus();
  for (bool by_nccl : {false, true}) {
    if (by_nccl) test::need_nccl();
    cuda::Options o = by_nccl ? summed(cuda::Sums::by_nccl, test::by_nccl()) : cuda::Options{};
    o.timeout = 0.5;
    o.inject = {.rank = 1, .command = "Count", .iteration = 3, .mute = true};
    cuda::enable(counting::Kernels{});
    auto engine = by_nccl ? test::cuda_engine(2, o) : engine_by_host(2, Algorithm::tree, o);
    std::string cause = "no failure";
    try {
      counting::count(*engine, 300, 25);
    } catch (const Error& e) {
      cause = e.what();
    }
    NOTE(cause);
    CHECK(cause.find("waited 0.5 s without any progress for") != std::string::npos);
    CHECK(cause.find("the reduction into 'total'") != std::string::npos);
  }
}

TEST("summed: what cannot be is refused with a sentence") {
  test::need_gpu();
  cuda::Options o = summed(cuda::Sums::by_host);
  o.deterministic = true;
  CHECK_THROWS(test::cuda_engine(1, o), Error, "ask for one of both");
  o.deterministic = false;
  o.sharing = cuda::Sharing::always;
  CHECK_THROWS(test::cuda_engine(2, o), Error, "need a GPU for each rank");
  CHECK_THROWS(test::cuda_engine(1, summed(cuda::Sums::by_nccl)), Error, "need ranks that send to each other by NCCL");
  CHECK_THROWS(sum_by(*test::cuda_engine(2), {.algorithm = Algorithm::tree}), Error, "was not built for sums by the host");
}
