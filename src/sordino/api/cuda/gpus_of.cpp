#include "sordino/api/cuda/gpus_of.hpp"

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::cuda {

std::vector<int> gpus_of(Engine& engine) {
  const auto* const found = dynamic_cast<const CudaEngine*>(&engine);
  if (!found) return {-1};
  if (engine.local_ranks() != engine.size()) return {found->gpu()};
  std::vector<int> gpus(static_cast<std::size_t>(engine.size()));
  engine.run([&](Rank& rank) { call("cudaGetDevice", cudaGetDevice(&gpus[std::size_t(rank.id())])); });  // of its thread
  return gpus;
}

}  // namespace sordino::cuda
