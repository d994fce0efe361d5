// Products with an H-matrix over processes, of which one has no memory left.
#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/api/hmatrix_products.hpp"
#include "unit/failing_new.hpp"
#include "unit/hmatrix/surfaces.hpp"

using namespace sordino;

TEST("what one process has no memory for is refused by all, and the next product is right") {
  if (!CAN_REFUSE_MEMORY) SKIP("a sanitizer replaces operator new");
  const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(6, 8).view()), {.compression = {.eps = 1e-4}});
  const std::vector<double> x(std::size_t(H.size()), 1.0);
  std::vector<double> y(x.size()), again(x.size());
  Options o;
  o.engine = "host", o.ranks = 1, o.timeout = 10;
  HMatrixProducts products(H, o);
  products.multiply(x.data(), y.data());
  const int last = mpi_world::processes() - 1;
  {
    const failing_new::Refusal none_of(mpi_world::process() == last ? x.size() * sizeof(double) : 0);
    CHECK_THROWS(products.multiply(x.data(), again.data()), Error,
                 "process " + std::to_string(last) + ": products with an H-matrix need ");
  }
  products.multiply(x.data(), again.data());
  CHECK(again == y);
}
