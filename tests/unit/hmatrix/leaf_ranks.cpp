// Ranks of leaves without their values, against matrices that have them.
#include "sordino/hmatrix/leaf_ranks.hpp"

#include <bit>
#include <map>

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

struct Ranked {
  double length, rank;  // rows and columns
};

/// Of what is stored, relative to it, where of so many blocks of a kind (as large up to a factor of two) one is drawn, and the
/// others take the ranks of these, drawn as well. A block that is drawn brings its own deviation from its kind's mean rank, and
/// its share in that of the sample's mean.
double standard_error(const hmatrix::HMatrix& built, int every) {
  std::map<std::pair<int, int>, std::vector<Ranked>> kinds;
  for (const hmatrix::Leaf& leaf : built.leaves()) {
    const i32 rows = leaf.block.rows.size(), columns = leaf.block.columns.size();
    if (!leaf.is_dense())
      kinds[{std::bit_width(u32(rows)), std::bit_width(u32(columns))}].push_back({double(rows + columns), double(leaf.rank)});
  }
  double variance = 0;
  for (const auto& [kind, blocks] : kinds) {
    const double n = double(blocks.size()), share = std::max(1.0 / every, 1 / n), others = 1 - share;
    double length = 0, squares = 0, mean = 0;
    for (const Ranked& b : blocks) length += b.length, squares += b.length * b.length, mean += b.rank / n;
    for (const Ranked& b : blocks) {
      const double off = b.rank - mean, moved = b.length + others * length / (share * n);
      variance += off * off * others * (share * moved * moved + squares / n);
    }
  }
  return std::sqrt(variance) / double(built.statistics().stored_values);
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
    // Of one block of each kind, the first, the seed changes nothing: that is the surface's.
    const double off = every < 10 ? 5 * standard_error(built, every) : 0.15;
    CHECK_NEAR(stored / double(built.stored_bytes()), 1, off);
  }
}

TEST("none of every so many blocks cannot be drawn") {
  const bem::Laplace laplace(surfaces::sphere(3, 2).view());
  CHECK_THROWS(hmatrix::leaf_ranks(laplace, hacapk(1e-4), 0), Error, "none can be drawn");
}
