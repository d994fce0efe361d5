// All-reduces of host data behind a product that the same processor computes, on the virtual clock: paper 003, Fig. 9.
#include "check.hpp"
#include "sordino/comm/timing.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

using namespace sordino;

constexpr double flops = 1e9;
constexpr AllReduceOptions flat{.algorithm = Algorithm::recursive_doubling, .by_adapter = true},
    flat_without_adapter{.algorithm = Algorithm::recursive_doubling}, two_level{.algorithm = Algorithm::two_level};

AllReduceTimes times(const AllReduceOptions& way, const Product& product) {
  model::Options m;
  m.ranks = 32;
  m.arithmetic = false;
  m.machine.ranks_per_node = 4;
  m.machine.host_overhead_s = 0.5e-6;
  m.machine.loopback_latency_s = 3e-6;
  m.machine.leader_skew_s = 0.5e-6;
  m.machine.launch_s = 0;
  model::ModelEngine engine(m);
  return time_all_reduce(engine, way, 1, 1, product);
}

}  // namespace

TEST("the adapter carries a flat all-reduce while the processor computes: nothing is left to wait for, however long it takes") {
  for (i64 n : {64, 128, 256}) {
    auto t = times(flat, {.n = n, .flops = flops, .spread = 0.1});
    NOTE("n = ", n);
    CHECK(t.wait == 0);
    CHECK_NEAR(t.total, t.post + t.product, 1e-12);
    CHECK_NEAR(t.overlap(), 1 - t.post / t.alone, 1e-12);
  }
}

TEST("without an adapter it goes on where commands meet: the more of them, the more is hidden") {
  double before = 2;
  for (int commands : {1, 4, 64}) {
    auto t = times(flat_without_adapter, {.n = 256, .commands = commands, .flops = flops});
    NOTE(commands, " commands, wait ", t.wait);
    CHECK(t.wait < 0.8 * before);
    CHECK(t.alone > 4 * t.post);
    before = t.wait;
  }
  CHECK(before == 0);
}

TEST("two levels wait for a leader that comes late from its product: the longer the product, the more") {
  double last = 0;
  for (i64 n : {64, 128, 256}) {
    auto even = times(two_level, {.n = n, .flops = flops}), uneven = times(two_level, {.n = n, .flops = flops, .spread = 0.1});
    double product = 2.0 * double(n * n * n) / flops;
    NOTE("n = ", n, ", wait ", uneven.wait);
    CHECK(even.wait < 1.1 * even.alone);
    CHECK(uneven.wait > last + 0.02 * product);
    CHECK_NEAR(uneven.product, product * 1.1, 0.05 * product);
    last = uneven.wait;
  }
}

TEST("products that cannot be meant are refused") {
  for (Product bad : {Product{.n = -1}, Product{.n = 4, .commands = 0}, Product{.n = 4, .flops = -1.0}})
    CHECK_THROWS(times(flat, bad), Error, "a product is of n >= 0 rows in at least one command");
}
