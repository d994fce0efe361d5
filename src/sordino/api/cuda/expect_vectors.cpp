#include "sordino/api/cuda/expect_vectors.hpp"

#include "sordino/runtime/cuda/engine.hpp"

namespace sordino::cuda {

void expect_vectors(Rank& rank, i64 bytes) {
  if (auto* const engine = dynamic_cast<CudaEngine*>(&rank.engine())) engine->expect_vectors(rank, bytes);
}

}  // namespace sordino::cuda
