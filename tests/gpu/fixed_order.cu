// Deterministic engines: the bits of the host engine, on any number of ranks and in every mode.
#include <algorithm>

#include "grid.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;
using test::Cg;

namespace {

struct Run {
  std::vector<double> history, x;
  bool operator==(const Run&) const = default;
};

Run solve(Engine& engine, int nx, int ny, int nz, int max) {
  std::vector<Run> of_rank(engine.size());
  engine.run(
      [&](Rank& rank) {
        Cg cg(rank, nx, ny, nz, 1000);
        for (int k = 0; k < 2; k++) cg.solve(cg.right_hand_side().data(), 1e-10, max);
        of_rank[rank.id()] = {rank.history, cg.solution()};
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

cuda::Options deterministic(cuda::Options o = {}) {
  cuda::enable<cuda::SumOrder::fixed>(test::CgKernels{});
  o.deterministic = true;
  return o;
}

}  // namespace

TEST("fixed order: 1 to 7 ranks of the GPU compute the bits of the host") {
  test::need_gpu();
  for (auto [nx, ny, nz] : {std::array{5, 3, 7}, std::array{16, 16, 18}, std::array{61, 53, 47}}) {
    NOTE(nx, " x ", ny, " x ", nz);
    auto host = test::host_engine(1);
    Run reference = solve(*host, nx, ny, nz, 500);
    for (int ranks : {1, 2, 3, 4, 7}) {
      NOTE(ranks, " ranks");
      auto gpu = test::cuda_engine(ranks, deterministic());
      CHECK(solve(*gpu, nx, ny, nz, 500) == reference);
    }
    for (double aside : {0.0, 1.0}) {  // of few blocks, in many rounds
      NOTE("aside ", aside);
      cuda::Options o = test::spinning(4);
      o.dealing.aside = aside;
      auto gpu = test::cuda_engine(3, deterministic(o));
      CHECK(solve(*gpu, nx, ny, nz, 500) == reference);
    }
  }
}

TEST("fixed order: ranks that spin, single launches, odd chunks, small grids and epochs that wrap around keep the bits") {
  test::need_gpu();
  auto host = test::host_engine(1);
  Run reference = solve(*host, 24, 20, 22, 500);
  std::vector<cuda::Options> ways(6);
  ways[0] = test::spinning(16);
  ways[1].time_commands = true;
  ways[2].chunk = 7;
  ways[3].most_blocks = 1;
  ways[4].first_epoch = 0x7ffffff0u;
  ways[5].chain = false;
  for (std::size_t way = 0; way < ways.size(); way++)
    for (int ranks : {1, 3}) {
      NOTE("way ", way, ", ", ranks, " ranks");
      auto gpu = test::cuda_engine(ranks, deterministic(ways[way]));
      gpu->trace().on = ways[way].time_commands;
      CHECK(solve(*gpu, 24, 20, 22, 500) == reference);
      auto spans = gpu->trace().take();
      bool met = std::any_of(spans.begin(), spans.end(), [](auto& s) { return s.kind == SpanKind::reduction; });
      CHECK(spans.empty() != ways[way].time_commands);
      CHECK(met == (ways[way].time_commands && ranks > 1 && !gpu->shares_devices()));
    }
}

TEST("fixed order: what NCCL brings keeps the bits") {
  test::need_nccl();
  auto host = test::host_engine(1);
  Run reference = solve(*host, 24, 20, 22, 500);
  for (int ranks = 2; ranks <= test::gpus(); ranks++) {
    NOTE(ranks, " ranks");
    auto gpu = test::cuda_engine(ranks, deterministic(test::by_nccl()));
    CHECK(solve(*gpu, 24, 20, 22, 500) == reference);
  }
}

TEST("fixed order: who sent nothing is named") {
  test::need_gpu();
  for (bool spin : {false, true}) {
    NOTE(spin ? "spinning" : "");
    cuda::Options o = spin ? test::spinning() : cuda::Options{};
    o.timeout = 0.5;
    o.inject = {.rank = 1, .command = "Update", .iteration = 7, .mute = true};
    auto gpu = test::cuda_engine(3, deterministic(o));
    CHECK_THROWS(solve(*gpu, 16, 16, 16, 100), Error, "waited 0.5 s without any progress for rank 1's part of the reduction");
  }
}
