// Folds of long vectors and barriers on the virtual clock: hidden behind what lies between their two halves, to the last byte.
#include "check.hpp"
#include "sordino/comm/barrier.hpp"
#include "sordino/comm/vector_fold.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

using namespace sordino;

constexpr double us = 1e-6, tolerance = 1e-12, latency = 2 * us, sum_latency = 3 * us, memory = 1e12, link_speed = 1e11;
constexpr int ranks = 4;

struct Work {  // one row, for `seconds`
  InOut x;
  double seconds;
  SORDINO_HD void row(i32 i) { x[i] += 1; }
  Cost cost() const { return {seconds * memory - 16, 0}; }
};
struct Ones {
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = 1; }
};

/// What rank `who` booked; job(rank, x) has a vector of one row for Work.
template <class Job>
Ledger booked(int who, const Job& job) {
  model::Options o;
  o.ranks = ranks;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = memory;
  o.machine.link_bandwidth = link_speed;
  o.machine.link_latency_s = latency;
  o.machine.reduction_base_s = sum_latency;
  model::ModelEngine engine(o);
  engine.run([&](Rank& s) { job(s, s.vector("x", s.add_space(equal_parts(1, s.id(), ranks)))); });
  return engine.rank(who).ledger;
}

/// All to rank 1, or 1000 words for each rank but the last, which has none.
VectorFold make_fold(Rank& s, bool to_root) {
  return to_root ? reduce_to(s, 3000, 1) : reduce_scatter(s, {1000, 1000, 1000, 0});
}

Ledger fold_behind(double work, bool to_root, int who) {
  return booked(who, [&](Rank& s, Vec x) {
    const VectorFold f = make_fold(s, to_root);
    Recorded once = s.record([&] {
      s.run(Ones{f.operand()}, push(f.operand()));
      if (work > 0) s.run(Work{x, work});
      f.fold(s);
    });
    s.replay(once);
    std::vector<double> y(std::size_t(s.space(f.result_space()).rows));
    s.read(f.result(), y.data());
    for (double v : y) CHECK(v == ranks);
  });
}

Ledger barrier_behind(double work, double late = 0) {
  return booked(1, [&](Rank& s, Vec x) {
    const Barrier barrier(s);
    Recorded once = s.record([&] {
      s.run(Work{x, 1 * us + (s.id() == 3 ? late : 0)});
      barrier.arrive(s);
      if (work > 0) s.run(Work{x, work});
      barrier.wait(s);
    });
    s.replay(once);
  });
}

}  // namespace

TEST("a reduce and a reduce-scatter are hidden behind what lies between push and fold, and what sticks out is exposed") {
  constexpr double word = 8, fill = 3000 * word / memory;
  struct Case {
    bool to_root;
    int who;
    double words, sent_before;  // sent to it, and before that to others, by the rank whose words come last
  };
  for (Case c : {Case{true, 1, 3000, 0}, Case{false, 1, 1000, 1000}, Case{false, 3, 0, 2000}}) {
    double travels = (c.words + c.sent_before) * word / link_speed + latency, folds = (ranks + 1) * c.words * word / memory;
    for (double work : {0 * us, 1 * us, 2 * us, travels, 5 * us}) {
      Ledger l = fold_behind(work, c.to_root, c.who);
      NOTE(c.to_root ? "reduce" : "reduce-scatter", ", rank ", c.who, " behind ", work, " s");
      CHECK_NEAR(l.exposed_halo, std::max(0.0, travels - work), tolerance);
      CHECK_NEAR(l.time, fill + std::max(work, travels) + folds, tolerance);
    }
    CHECK(fold_behind(5 * us, c.to_root, c.who).exposed_halo == 0);
  }
}

TEST("a barrier is hidden behind what lies between arriving and waiting, and waits for the last") {
  for (double work : {0 * us, 1 * us, 3 * us, 5 * us}) {
    NOTE("behind ", work, " s");
    Ledger l = barrier_behind(work);
    CHECK_NEAR(l.exposed_reduction, std::max(0.0, sum_latency - work), tolerance);
    CHECK_NEAR(l.time, 1 * us + std::max(work, sum_latency), tolerance);
    Ledger late = barrier_behind(work, 10 * us);
    CHECK_NEAR(late.time, 11 * us + sum_latency, tolerance);
    CHECK_NEAR(late.exposed_reduction + late.imbalance, 10 * us + sum_latency - work, tolerance);
  }
}
