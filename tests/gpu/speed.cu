// Microseconds an iteration of conjugate gradients on one GPU. Prints a table; what it must reach is asserted loosely, for
// timings on a shared machine vary.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "grid.hpp"
#include "support.hpp"

using namespace sordino;
using test::Cg;

namespace {

double microseconds(cuda::CudaEngine& gpu, int n, int iterations) {
  std::vector<double> best(gpu.size(), 1e300);
  gpu.run([&](Rank& rank) {
    Cg cg(rank, n, n, n, 1000);
    auto b = cg.right_hand_side();
    cg.solve(b.data(), 0, 60);
    for (int k = 0; k < 5; k++) {
      auto begin = std::chrono::steady_clock::now();
      cg.iterate(0, iterations);
      double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      best[rank.id()] = std::min(best[rank.id()], s / iterations * 1e6);
    }
  }, {});
  return best[0];
}

}  // namespace

// SPEED_SIZES=64,128 SPEED_VARIANTS=1 (a bit each) SPEED_BLOCKS=512 SPEED_RANKS=4 choose.
TEST("speed: conjugate gradients at 64^3, 128^3 and 256^3") {
  test::need_gpu();
  auto number = [](const char* name, int otherwise) { return std::getenv(name) ? std::atoi(std::getenv(name)) : otherwise; };
  int ranks = number("SPEED_RANKS", 1), variants = number("SPEED_VARIANTS", 15);
  std::string sizes = std::getenv("SPEED_SIZES") ? std::getenv("SPEED_SIZES") : "64,128,256";
  for (int n : {64, 128, 256}) {
    if (sizes.find(std::to_string(n)) == std::string::npos) continue;
    int iterations = n == 64 ? 1000 : n == 128 ? 600 : 200;
    for (int variant = 0; variant < 4; variant++) {
      if (!(variants >> variant & 1)) continue;
      cuda::Options o;
      o.most_blocks = number("SPEED_BLOCKS", 0);
      if (variant == 1) o.chain = false;
      if (variant == 2) o.chunk = 60;
      if (variant == 3) o.time_commands = true;
      auto gpu = test::cuda_engine(ranks, o);
      const char* name[] = {"chained, chunks of 20", "not chained", "chained, chunks of 60", "launch by launch, timed"};
      double us = microseconds(*gpu, n, iterations), floor = double(n) * n * n * 160 / ranks / 4.3e6;
      std::printf("%d^3 ranks %d  %-26s %8.2f us/iteration (floor %.1f)\n", n, ranks, name[variant], us, floor);
      if (variant == 3) {
        for (auto& [command, k] : gpu->rank(0).ledger.kernels)
          std::printf("    %-10s %8.2f us, %6.0f GB/s\n", command.c_str(), k.seconds / double(k.calls) * 1e6, k.bytes / k.seconds * 1e-9);
      }
      std::fflush(stdout);
      CHECK(us > 0);
    }
  }
}
