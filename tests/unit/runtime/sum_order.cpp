// Sums have one order, whoever adds.
#include "sordino/runtime/sum_order.hpp"

#include <bit>
#include <vector>

#include "check.hpp"
#include "sordino/base/types.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// As a warp adds: every lane takes its numbers, then all exchange with the lane 16, 8, 4, 2 and 1 away.
double by_a_warp(const std::vector<double>& numbers) {
  std::vector<double> lane(running_sums, 0.0);
  for (std::size_t i = 0; i < numbers.size(); i++) lane[i % running_sums] += numbers[i];
  for (std::size_t half = running_sums / 2; half; half /= 2) {
    auto before = lane;
    for (std::size_t l = 0; l < lane.size(); l++) lane[l] = before[l] + before[l ^ half];
  }
  for (double x : lane) REQUIRE(std::bit_cast<u64>(x) == std::bit_cast<u64>(lane[0]));
  return lane[0];
}

double by_a_thread(const std::vector<double>& numbers) {
  double running[running_sums] = {};
  for (std::size_t i = 0; i < numbers.size(); i++) running[i % running_sums] += numbers[i];
  return fold(running, int(numbers.size()));
}

}  // namespace

TEST("a thread and a warp add to the same bits, however few numbers there are, and whatever their signs") {
  NOTE(fresh::said());
  fresh::Random random(77);
  for (int n = 0; n <= 300; n++)
    for (int kind = 0; kind < 3; kind++) {
      NOTE(n, " numbers, kind ", kind);
      auto numbers = random.normals(n);
      if (kind == 1)
        for (std::size_t i = 1; i < numbers.size(); i += 2) numbers[i] = -numbers[i - 1];
      if (kind == 2)
        for (double& x : numbers) x = -0.0;
      CHECK(std::bit_cast<u64>(by_a_thread(numbers)) == std::bit_cast<u64>(by_a_warp(numbers)));
    }
}
