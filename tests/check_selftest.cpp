// Tests of the checks themselves: three that pass, eight that must fail, each for its own reason, one
// skipped. tests/CMakeLists.txt expects exactly these numbers in the closing line.
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

int throw_empty() { throw std::invalid_argument("the matrix is empty"); }

enum class Colour { red, blue };

}  // namespace

TEST("passes: comparisons, whatever the signs and types") {
  const std::size_t size = 3;
  const std::vector<int> values{1, 2};
  CHECK(size == 3);
  CHECK(-1 < size);
  CHECK(values == std::vector<int>{1, 2});
  CHECK(Colour::red != Colour::blue);
  CHECK(!values.empty() && values[0] == 1);
  REQUIRE(size + 1 > size);
  CHECK_NEAR(1.0 + 1e-15, 1, 1e-14);
}

TEST("passes: the right exception with the right words") { CHECK_THROWS(throw_empty(), std::invalid_argument, "is empty"); }

TEST("passes: values as text") {
  CHECK(check::text(std::vector<double>{0.5, 2}) == "[0.5, 2]");
  CHECK(check::text(0.1) == "0.10000000000000001");
  CHECK(check::join("n = ", 3, ", ", true) == "n = 3, true");
}

TEST("fails: a comparison") {
  NOTE("n = ", 4);
  CHECK(1 + 1 == 3);
}
TEST("fails: a condition") { CHECK(std::vector<int>{1}.empty()); }
TEST("fails: a NaN is near nothing") { CHECK_NEAR(std::nan(""), 0.0, 1e300); }
TEST("fails: nothing thrown") { CHECK_THROWS(1 + 1, std::invalid_argument, ""); }
TEST("fails: other words") { CHECK_THROWS(throw_empty(), std::invalid_argument, "is full"); }
TEST("fails: an exception nobody expected") { throw_empty(); }
TEST("fails: REQUIRE ends the test") {
  REQUIRE(1 == 2);
  SKIP("REQUIRE did not end it");
}
TEST("fails: a check in another thread") {
  std::thread([] { CHECK(1 == 2); }).join();
}

TEST("skips") { SKIP("because this machine has no ", "moon"); }
