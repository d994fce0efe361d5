// The exit test of methods with complex numbers.
#include "sordino/solvers/number_steps.hpp"

#include <cmath>
#include <limits>

#include "check.hpp"
#include "sordino/base/status.hpp"

using namespace sordino;

namespace {

ConvergedNumbers test_of(double product, double rr) {
  ConvergedNumbers test{};
  test.product_re.v = product;
  test.rr.v = rr;
  test.divisor_re.v = test.size.v = 1;
  test.target.v = 1e-20;
  test.bound.v = 1e20;
  return test;
}

}  // namespace

TEST("a residual that is gone is met, whatever number M makes of it, and one that is there is lost with it") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(test_of(none, 0).test() == met);
  CHECK(test_of(none, 1).test() == blew_up);
  CHECK(test_of(1, none).test() == blew_up);
  CHECK(test_of(1, 1e30).test() == blew_up);
  CHECK(test_of(0, 1).test() == broke_down);
  CHECK(test_of(1, 1).test() == proceed);
}
