// Surfaces whose axes are stretched and flattened: triangles reach over their clusters, and single entries are what crosses
// miss.
#include <algorithm>

#include "check.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/hmatrix/host_leaves.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;

surfaces::Surface scaled(surfaces::Surface s, double x, double y, double z) {
  const double factors[] = {x, y, z};
  for (std::size_t k = 0; k < s.corners.size(); k++) s.corners[k] *= factors[k % 3];
  return s;
}

double axis(fresh::Random& random) { return std::pow(10, random.real(-3, 2)); }

/// The largest error of a block of so few entries that all are compared, relative to the block.
template <class V>
double worst_block(const HMatrixOf<V>& H, const GeneratorOf<V>& generator) {
  const std::size_t n = std::size_t(H.size());
  const std::vector<V> exact = dense::of(generator, H.tree()), stored = dense::of(H);
  double worst = 0;
  for (const LeafOf<V>& l : H.leaves()) {
    if (l.is_dense() || l.block.entries() > few_entries) continue;
    double off = 0, all = 0;
    for (i32 i = l.block.rows.begin; i < l.block.rows.end; i++)
      for (i32 j = l.block.columns.begin; j < l.block.columns.end; j++) {
        const std::size_t at = std::size_t(i) * n + std::size_t(j);
        off += squared(stored[at] - exact[at]), all += squared(exact[at]);
      }
    worst = std::max(worst, std::sqrt(off / all));
  }
  return worst;
}

template <class V>
void check(const HMatrixOf<V>& H, const GeneratorOf<V>& generator, double eps) {
  CHECK(H.statistics().low_rank_blocks > 20);
  CHECK(worst_block(H, generator) <= largest_error * eps);
  const auto exact = dense::of(generator, H.tree());
  CHECK(dense::distance(dense::of(H), exact) <= eps * dense::norm(exact));
}

template <class V>
void check_all(const GeneratorOf<V>& generator, std::initializer_list<double> tolerances) {
  for (double eps : tolerances) {
    for (auto kind : {Approximation::aca, Approximation::aca_plus}) {
      NOTE("eps = ", eps, ", approximation ", int(kind));
      check(HMatrixOf<V>(generator, {.compression = {.eps = eps, .approximation = kind}}), generator, eps);
    }
    NOTE("eps = ", eps, ", on a device");
    check(HMatrixOf<V>(host_leaves::Generator<V>(generator), {.compression = {.eps = eps}, .gpus = {0}}), generator, eps);
  }
}

}  // namespace

TEST("a sphere that is a thousandth as high keeps to eps, block by block, on hosts and on devices") {
  check_all<double>(bem::Laplace(scaled(surfaces::sphere(6, 8), 1, 1, 1e-3).view()), {1e-2, 1e-4, 1e-6, 1e-8});
}

TEST("spheres whose axes have any length keep to eps, block by block, on hosts and on devices") {
  NOTE(fresh::said());
  fresh::Random random(83);
  for (int time = 0; time < 3; time++) {
    const double x = axis(random), y = axis(random), z = axis(random);
    NOTE("axes ", x, ", ", y, ", ", z);
    check_all<double>(bem::Laplace(scaled(surfaces::sphere(6, 8, 1.0), x, y, z).view()), {1e-4, 1e-6, 1e-8});
  }
}

TEST("waves on a flat sphere keep to eps, too") {
  check_all<Number>(bem::Helmholtz(scaled(surfaces::sphere(6, 6, 1.0), 1, 1, 1e-3).view(), 2.0), {1e-2, 1e-5, 1e-8});
}
