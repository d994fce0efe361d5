// Microseconds an iteration of conjugate gradients on one GPU. Prints a table; what it must reach is asserted loosely, for
// timings on a shared machine vary.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "grid.hpp"
#include "support.hpp"

using namespace sordino;
using test::Cg;

namespace {

double microseconds(cuda::CudaEngine& gpu, int n, int iterations) {
  std::vector<double> best(gpu.size(), 1e300);
  gpu.run(
      [&](Rank& rank) {
        Cg cg(rank, n, n, n, 1000);
        auto b = cg.right_hand_side();
        cg.solve(b.data(), 0, 60);
        for (int k = 0; k < 5; k++) {
          auto begin = std::chrono::steady_clock::now();
          cg.iterate(0, iterations);
          double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          best[rank.id()] = std::min(best[rank.id()], s / iterations * 1e6);
        }
      },
      {});
  return best[0];
}

std::vector<int> numbers(const char* name, std::vector<int> otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  std::vector<int> list;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) list.push_back(std::atoi(part.c_str()));
  return list;
}

}  // namespace

// SPEED_SIZES=64,128 SPEED_VARIANTS=0,1 SPEED_BLOCKS=264,0 SPEED_RANKS=4 choose.
TEST("speed: conjugate gradients at 64^3, 128^3 and 256^3") {
  test::need_gpu();
  const char* name[] = {"chained, chunks of 20", "not chained",      "chained, chunks of 60",
                        "chained, timed",        "launch by launch", "WHILE graph"};
  for (int ranks : numbers("SPEED_RANKS", {1}))
    for (int n : numbers("SPEED_SIZES", {64, 128, 256}))
      for (int blocks : numbers("SPEED_BLOCKS", {0}))
        for (int variant : numbers("SPEED_VARIANTS", {0, 1, 2, 3, 4, 5})) {
          cuda::Options o;
          o.most_blocks = blocks;
          if (variant == 1) o.chain = false;
          if (variant == 2) o.chunk = 60;
          if (variant == 3) o.time_commands = true;
          if (variant == 4) o.looping = cuda::Looping::launches;
          if (variant == 5) o.looping = cuda::Looping::while_graph;
          auto gpu = test::cuda_engine(ranks, o);
          double us = microseconds(*gpu, n,
                                   n == 64    ? 1000
                                   : n == 128 ? 600
                                              : 200),
                 floor = double(n) * n * n * 160 / ranks / 4.3e6;
          std::printf("%d^3 ranks %d blocks %4d  %-24s %8.2f us/iteration (floor %.1f)\n", n, ranks, blocks, name[variant], us,
                      floor);
          for (auto& [command, k] : gpu->rank(0).ledger.kernels)
            std::printf("    %-10s %8.2f us, %6.0f GB/s\n", command.c_str(), k.seconds / double(k.calls) * 1e6,
                        k.bytes / k.seconds * 1e-9);
          std::fflush(stdout);
          CHECK(us > 0);
        }
}
