// Runs that are to fail, and what they say.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "grid.hpp"
#include "sordino/runtime/cuda/engine.hpp"

namespace test {

struct Failure {
  std::string cause = "no failure";
  double seconds = 0;  // until the run ended
};

/// A job with a system of conjugate gradients on every rank.
inline Failure fail(cuda::CudaEngine& gpu, const std::function<void(Rank&, Cg&, const std::vector<double>&)>& job) {
  Failure f;
  auto begin = std::chrono::steady_clock::now();
  try {
    gpu.run(
        [&](Rank& rank) {
          Cg cg(rank, 16, 16, 16, 10);
          job(rank, cg, cg.right_hand_side());
        },
        {});
  } catch (const Error& e) {
    f.cause = e.what();
  }
  f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return f;
}

}  // namespace test
