// The same patterns on the cuda engine: pushed by kernels into the receivers' memory.
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;

TEST("traffic: messages and collectives on vectors arrive, on 1 to 4 ranks, by peer memory or on one device") {
  test::need_gpu();
  cuda::enable(traffic::Kernels{});
  for (int ranks : {1, 2, 3, 4}) {
    NOTE(ranks, " ranks");
    auto gpu = test::cuda_engine(ranks);
    if (ranks > 1) traffic::ring(*gpu);
    traffic::collectives(*gpu);
    traffic::sums(*gpu);
    traffic::folds(*gpu);
    traffic::copies(*gpu);
  }
}
