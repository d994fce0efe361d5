// The same Jacobi program on GPUs, one a rank. What makes it run there: this file is compiled by nvcc, and enables its kernels.
//
//   build/examples/jacobi2d_gpu [cells in each direction [ranks]]
#include <cstdio>
#include <cstdlib>

#include "jacobi2d.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"

using namespace sordino;

int main(int argc, char** argv) try {
  i32 n = argc > 1 ? std::atoi(argv[1]) : 256;
  int ranks = argc > 2 ? std::atoi(argv[2]) : 0;
  if (auto found = cuda::device_report(); !found.reason.empty()) {
    std::printf("no GPU: %s\n", found.reason.c_str());
    return 77;
  }
  cuda::enable(jacobi2d::Kernels{});
  cuda::Options options;
  options.ranks = ranks;
  cuda::CudaEngine gpus(options);
  if (n < 2 * gpus.size()) bad_argument("a slab takes at least 2 lines a rank");
  Outcome outcome;
  constexpr int sweeps = 20000;
  double seconds = 0;
  gpus.run([&](Rank& s) {
    double begin = s.engine().now(s);
    auto r = jacobi2d::solve(s, n, 1e-18, sweeps, true);
    if (s.id() == 0) outcome = r.outcome, seconds = s.engine().now(s) - begin;
  });
  std::printf("%d x %d cells on %d GPUs: %d sweeps, %.2f us each\n", n, n, gpus.size(), outcome.iterations,
              seconds / outcome.iterations * 1e6);
  return outcome.verdict == blew_up ? 3 : 0;
} catch (const Error& error) {
  std::fprintf(stderr, "jacobi2d_gpu: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
