#include "sordino/hmatrix/trees.hpp"

#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/cuda/device_trees.hpp"
#endif

namespace sordino::hmatrix {

Trees make_trees(const double* points, i64 n, const TreeOptions& options) {
  ClusterTree clusters(points, n, options.leaf, options.threads);
  BlockTree blocks(clusters, options.eta, options.leaf + 1, options.threads);
  return {std::move(clusters), std::move(blocks)};
}

#if SORDINO_WITH_CUDA
namespace {

Trees on_gpu_or_here(int gpu, const double* points, i64 n, const TreeOptions& options) {
  try {
    return trees_on_gpu(gpu, points, n, options);
  } catch (const Error& e) {
    if (e.code() != Errc::unsupported) throw;  // it has too little memory: leaves may need less
    return make_trees(points, n, options);
  }
}

}  // namespace

// A GPU's first call waits for the driver: all of them wait at the same time.
Trees make_trees_on_gpus(std::span<const int> gpus, const double* points, i64 n, const TreeOptions& options) {
  require_points(n, options.leaf);
  require_eta(options.eta);
  Trees trees;
  auto some = [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; k++)
      if (k == 0)
        trees = on_gpu_or_here(gpus[0], points, n, options);
      else
        begin_gpu(gpus[std::size_t(k)]);
  };
  for_parts(0, i64(gpus.size()), some, 1, int(gpus.size()));
  return trees;
}
#else
Trees make_trees_on_gpus(std::span<const int>, const double*, i64, const TreeOptions&) {
  throw Error(Errc::unsupported, "this Sordino has no code for GPUs: engine='host' builds H-matrices");
}
#endif

}  // namespace sordino::hmatrix
