// Commands on the cuda engine in which few blocks send, and some look for what comes, beside all other rows: in grids so small
// that there are many rounds. The programs know what must come out, and throw.
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;

namespace {

/// On one GPU, in grids of `blocks`, with all shares of the work for blocks that stand aside.
void compute(int ranks, int blocks, const std::function<void(Rank&, overlap::Stopwatch&)>& program) {
  for (double aside : {0.0, 1.0, 3.0}) {
    NOTE(ranks, " ranks, ", blocks, " blocks, aside ", aside);
    cuda::Options options = test::spinning(blocks);
    options.dealing.aside = aside;
    auto gpu = test::cuda_engine(ranks, options);
    overlap::Stopwatch watch(ranks, 2, 25);
    gpu->run([&](Rank& rank) { program(rank, watch); });
  }
}

}  // namespace

TEST("dealing: lines that few blocks send, and some look for, arrive whole") {
  test::need_gpu();
  cuda::enable(overlap::Kernels{});
  for (int ranks : {2, 3})
    for (int blocks : {2, 8, 13})
      for (i32 line : {1, 300, 3000})
        compute(ranks, blocks, [&](Rank& rank, overlap::Stopwatch& watch) {
          overlap::halo(rank, {.sends = true, .words = line, .work = 50'000}, watch);
        });
}

TEST("dealing: pieces sent ahead of other rows of the same command arrive whole") {
  test::need_gpu();
  cuda::enable(overlap::Kernels{});
  for (int ranks : {2, 3})
    for (i32 piece : {1, 300, 3000})
      compute(ranks, 8, [&](Rank& rank, overlap::Stopwatch& watch) {
        overlap::gather(rank, {.sends = true, .words = piece, .work = 50'000}, true, watch);
      });
}
