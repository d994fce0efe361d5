// Ranks of leaves without their values, against matrices that have them.
#include "sordino/hmatrix/leaf_ranks.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace {

using namespace sordino;
using hmatrix::BuildOptions;

BuildOptions hacapk(double eps, u64 seed = 1) {
  return {.compression = {.eps = eps, .recompress = false, .certify = false}, .seed = seed};
}

}  // namespace

TEST("ranks are those of the matrix that is built, whatever the options, and so is what it stores") {
  for (const auto& [m0, M] : {std::pair{3, 4}, {6, 10}}) {
    const bem::Laplace laplace(surfaces::sphere(m0, M).view());
    for (const BuildOptions& options : {hacapk(1e-5), BuildOptions{.compression = {.eps = 1e-4}, .seed = 7}}) {
      const hmatrix::HMatrix built(laplace, options);
      const auto ranks = hmatrix::leaf_ranks(laplace, options, 1);
      CHECK(ranks == built.outline().ranks);
      const hmatrix::HMatrix outline = hmatrix::without_values(laplace, options, ranks);
      CHECK(outline.stored_bytes() == built.stored_bytes());
      CHECK(outline.statistics().nodes == built.statistics().nodes);
      CHECK(outline.statistics().mean_rank == built.statistics().mean_rank);
    }
  }
}

TEST("of a part of the blocks the others have the ranks, so that all store as much within a few percent") {
  NOTE(fresh::said());
  fresh::Random random(90);
  const bem::Laplace laplace(surfaces::sphere(8, 14).view());
  const hmatrix::HMatrix built(laplace, hacapk(1e-5));
  const auto exact = built.outline().ranks;
  for (int every : {2, 5, 1 << 30}) {
    const BuildOptions options = hacapk(1e-5, u64(random.whole(1, 1000)));
    NOTE("every = ", every, ", seed = ", options.seed);
    const auto ranks = hmatrix::leaf_ranks(laplace, options, every);
    CHECK(ranks.size() == exact.size());
    i64 alike = 0;
    for (std::size_t l = 0; l < ranks.size(); l++) {
      CHECK((ranks[l] < 0) == (exact[l] < 0));
      alike += ranks[l] == exact[l];
    }
    CHECK(alike < i64(ranks.size()));  // they are not all compressed
    const double stored = double(hmatrix::without_values(laplace, options, ranks).stored_bytes());
    CHECK_NEAR(stored / double(built.stored_bytes()), 1, every < 10 ? 0.02 : 0.15);
  }
}

TEST("none of every so many blocks cannot be drawn") {
  const bem::Laplace laplace(surfaces::sphere(3, 2).view());
  CHECK_THROWS(hmatrix::leaf_ranks(laplace, hacapk(1e-4), 0), Error, "none can be drawn");
}
