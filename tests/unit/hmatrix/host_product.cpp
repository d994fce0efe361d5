// Products on threads against all entries of what is stored, the transposed ones and those of several vectors among them.
#include "sordino/hmatrix/host_product.hpp"

#include "check.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"

namespace {

using namespace sordino;

/// Column c of x [n][columns].
std::vector<double> column(const std::vector<double>& x, int c, int columns) {
  std::vector<double> v;
  for (std::size_t i = std::size_t(c); i < x.size(); i += std::size_t(columns)) v.push_back(x[i]);
  return v;
}

}  // namespace

TEST("products and transposed products of 1, 3, 8 and 19 vectors are those of what is stored") {
  NOTE(fresh::said());
  fresh::Random random(60);
  for (auto [m0, M] : {std::pair{3, 1}, {4, 5}, {7, 11}}) {
    const bem::Laplace laplace(surfaces::sphere(m0, M).view());
    const hmatrix::HMatrix H(laplace, {.compression = {.eps = 1e-5}});
    const hmatrix::HostProduct whole(H);
    const auto all = dense::of(H);
    for (int columns : {1, 3, 8, 19})
      for (bool transposed : {false, true}) {
        NOTE("n = ", H.size(), ", ", columns, " vectors, transposed ", transposed);
        const auto x = random.normals(H.size() * columns);
        std::vector<double> y(x.size(), std::nan(""));
        whole.multiply(x.data(), y.data(), columns, transposed);
        for (int c = 0; c < columns; c++) {
          const auto exact = dense::times(all, column(x, c, columns), transposed);
          CHECK(dense::distance(column(y, c, columns), exact) <= 1e-14 * dense::norm(exact));
        }
      }
  }
}
