// Times of paper 004's Algorithm 1, step by step, on cases counted by hand.
#include "sordino/trsv/paper_steps.hpp"

#include <cmath>

#include "check.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using namespace sordino::trsv::paper;

constexpr i64 bytes = 8;

StepTimes some_times(fresh::Random& random) {
  auto some = [&] { return random.real(1e-7, 3e-6); };
  return {.load_s = some(), .take_s = some(), .step_s = some(), .count_s = some()};
}

Machine machine_of(double bandwidth, double latency, int workers = 528) {
  Machine m{.link_bandwidth = 1e11, .put_overhead_s = 0};
  m.triangular.bandwidth = bandwidth, m.triangular.message_s = latency, m.triangular.workers = workers;
  return m;
}

/// A dense triangle in block columns of `width`.
Pattern dense(i64 n, i32 width) {
  fresh::Random any(1);
  return pattern_of(find_supernodes(triangles::scattered(any, n, 1).pattern()), width);
}

double seconds_of(const Pattern& p, const Grid& g, const Machine& m, const StepTimes& t) {
  return predict_steps(p, lay_out(p, g), m, bytes, t).seconds;
}

}  // namespace

TEST("004: two block columns of 20, by hand on 1 x 1, 2 x 1 and 1 x 2") {
  NOTE(fresh::said());
  fresh::Random random(71);
  const StepTimes t = some_times(random);
  const double latency = random.real(1e-6, 9e-6), message = latency + 20 * bytes / 1e11;
  const Machine m = machine_of(1e30, latency);
  const Pattern p = dense(40, 20);
  REQUIRE(p.count() == 2);
  // Twenty rows lie along 32 threads, so that each of the others' eight groups has three columns, which it loads at once.
  const double product = t.load_s + t.step_s, first = std::max(t.take_s, t.count_s) + t.load_s + product;
  const double last = t.count_s + t.load_s + product;  // from when the sum is there
  CHECK_NEAR(seconds_of(p, {1, 1}, m, t), first + product + last, 1e-12);
  CHECK_NEAR(seconds_of(p, {2, 1}, m, t), std::max(first + message, t.take_s) + t.load_s + product + last, 1e-12);
  // A thread sends, and another adds up, 20 values, eight at a time; WAIT looks at one sum.
  const double reduction = 3 * t.load_s + message + 0.5 * t.load_s / t.wait_threads + 3 * t.load_s + t.count_s;
  CHECK_NEAR(seconds_of(p, {1, 2}, m, t), first + product + reduction + last, 1e-12);
  const StepPrediction one = predict_steps(p, lay_out(p, {1, 1}), m, bytes, t);
  CHECK_NEAR(one.waiting, std::max(0.0, t.count_s - t.take_s) + first + product + t.count_s - t.take_s, 1e-12);
}

TEST("004: rows are multiplied 256 at a time, and a sum is there with its block's last row") {
  NOTE(fresh::said());
  fresh::Random random(72);
  const StepTimes t = some_times(random);
  const Machine m = machine_of(1e30, 0);
  const Pattern p = dense(640, 128);  // block rows end behind 128, 256, 384 and 512 rows of the first column
  REQUIRE(p.count() == 5);
  auto loads = [&](i32 rows) { return t.load_s * (rows > 128 ? 16 : rows > 64 ? 8 : 0) + t.step_s; };
  double x = std::max(t.take_s, t.count_s), sums[5] = {};
  for (int K = 0; K < 5; K++) {
    x = std::max(t.take_s, sums[K] + t.count_s) + t.load_s + loads(128);
    double now = x;
    for (int I = K + 1; I < 5; I += 2) {
      now += loads(I + 1 < 5 ? 256 : 128);
      for (int i = I; i < std::min(I + 2, 5); i++) sums[i] = std::max(sums[i], now);
    }
  }
  CHECK_NEAR(seconds_of(p, {1, 1}, m, t), x, 1e-12);
}

TEST("004: thread blocks that have no place wait for one, in the columns' order") {
  NOTE(fresh::said());
  fresh::Random random(73);
  StepTimes t = some_times(random);
  t.take_s = 5e-6;
  const i64 n = random.whole(40, 90);
  const Pattern p = pattern_of(find_supernodes(triangles::scattered(random, n, 0).pattern()), 1);
  REQUIRE(p.count() == n);
  const double each = t.take_s + t.load_s + t.load_s + t.step_s;
  for (int workers : {1, 4, 8, 800}) {
    const double rounds = std::ceil(double(n) / std::max(1, workers * 5 / 4));
    NOTE("workers ", workers);
    CHECK_NEAR(seconds_of(p, {1, 1}, machine_of(1e30, 0, workers), t), rounds * each, 1e-10);
  }
}

TEST("004: what many thread blocks read takes the memory's bandwidth, and what one reads no longer than its loads") {
  NOTE(fresh::said());
  fresh::Random random(74);
  const StepTimes t = some_times(random);
  const Pattern p = pattern_of(find_supernodes(triangles::nested_grid(12, 12, 12).pattern()), 64);
  const double bandwidth = random.real(1e9, 2e9);
  double values = 0;
  for (i32 K = 0; K < p.count(); K++)
    for (i64 e = p.begin[std::size_t(K)]; e < p.begin[std::size_t(K) + 1]; e++)
      values += double(p.width(K)) * p.height[std::size_t(e)] * (p.row[std::size_t(e)] == K ? 0.5 : 1);
  const double read = bytes * values / bandwidth, slow = seconds_of(p, {1, 1}, machine_of(bandwidth, 0), t);
  const double fast = seconds_of(p, {1, 1}, machine_of(1e30, 0), t);
  CHECK(slow >= read);
  CHECK(slow < read + fast + 1e-4 * read);
  CHECK(seconds_of(p, {1, 1}, machine_of(1e20, 0), t) == fast);
}

TEST("004: messages that take longer, and fewer workers, make no solve shorter; every rank's columns are done") {
  NOTE(fresh::said());
  fresh::Random random(75);
  for (const triangles::Columns& c : triangles::some(random, 6)) {
    const Pattern p = pattern_of(find_supernodes(c.pattern()), i32(random.whole(1, 20)));
    for (const Grid& g : {Grid{1, 1}, Grid{3, 1}, Grid{1, 4}, Grid{2, 3}, Grid{7, 1}}) {
      NOTE("n = ", c.n, ", ", g.rows, " x ", g.columns);
      const StepTimes t = some_times(random);
      const double near = seconds_of(p, g, machine_of(3e12, 1e-6), t);
      CHECK(near > 0);
      CHECK(seconds_of(p, g, machine_of(3e12, 1e-5), t) >= near);
      const StepPrediction few = predict_steps(p, lay_out(p, g), machine_of(1e30, 1e-6, 1), bytes, t);
      CHECK(few.seconds >= seconds_of(p, g, machine_of(1e30, 1e-6), t));
      CHECK(few.waiting >= 0);
    }
  }
}

TEST("004: ranks of other nodes are as far as the machine says") {
  const StepTimes t;
  Machine m = machine_of(3e12, 1e-6);
  const Pattern p = dense(40, 20);
  const double same = seconds_of(p, {2, 1}, m, t);
  m.ranks_per_node = 1, m.internode_latency_s = 1e-3, m.internode_bandwidth = 1e6;
  CHECK_NEAR(seconds_of(p, {2, 1}, m, t) - same, 1e-3 - 1e-6 + 160 / 1e6 - 160 / 1e11, 1e-9);
}
