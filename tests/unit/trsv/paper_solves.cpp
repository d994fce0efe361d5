// Paper 004's Algorithm 1 by threads and on the virtual clock, against substitution; and what its listing does where it is
// printed wrongly.
#include <numeric>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/paper_clock.hpp"
#include "sordino/trsv/paper_solve.hpp"
#include "unit/trsv/paper_cases.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using paper::ClockOptions;
using paper::ClockReport;
using paper::Grid;
using paper::Layout;
using paper_cases::Case;
using paper_cases::error_of;
using paper_cases::tolerance;
using triangles::Columns;

const std::vector<Grid> grids{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 1}};

template <class V>
void check_solves(fresh::Random& random, int seeds) {
  const Case<V> one = Case<V>::make(triangles::nested_grid(9, 8, 5), random, i32(random.whole(1, 20)), random.chance(0.3));
  for (const Grid& g : grids) {
    const Layout layout = lay_out(one.factor.pattern(), g);
    const paper::Traffic traffic = traffic_of(one.factor.pattern(), layout, sizeof(V));
    for (int seed = 0; seed < seeds; seed++) {
      const ClockOptions options{.workers = int(random.whole(1, 6)), .seed = u64(random.whole(0, 1 << 30))};
      NOTE(g.rows, " x ", g.columns, ", ", options.workers, " workers, seed ", options.seed);
      std::vector<V> x = one.nothing();
      const ClockReport report = clock_solve(one.factor, layout, Machine{}, options, one.b.data(), x.data());
      CHECK(error_of(x, one.wanted) < tolerance<V>());
      CHECK(report.messages == traffic.broadcasts + traffic.reductions);
      CHECK(report.message_bytes == traffic.broadcast_bytes + traffic.reduction_bytes);
    }
  }
}

/// How many of 40 adversarial runs hang, and how many end with a wrong x, if WAIT does what is given.
struct Outcomes {
  int hang = 0, wrong = 0;
};
Outcomes outcomes(const Case<double>& one, const Layout& layout, fresh::Random& random,
                  const paper::ReceiveSum<double>& receive) {
  Outcomes o;
  for (int k = 0; k < 40; k++) {
    std::vector<double> x = one.nothing();
    try {
      const ClockOptions slow_wait{.step_seconds = 1e-4, .seed = u64(random.whole(1, 1 << 30))};  // so that sums queue up
      clock_solve(one.factor, layout, Machine{}, slow_wait, one.b.data(), x.data(), receive);
      o.wrong += !(error_of(x, one.wanted) < 1e-11);
    } catch (const Error&) {
      o.hang++;
    }
  }
  return o;
}

}  // namespace

TEST("004: Algorithm 1 as corrected is substitution on six layouts, 45 adversarial schedules each, real and complex") {
  NOTE(fresh::said());
  fresh::Random random(51);
  check_solves<double>(random, 45);
  check_solves<float>(random, 5);
  check_solves<Number>(random, 5);
}

TEST("004: the same by threads of the host, with one worker a rank or several, solve after solve") {
  NOTE(fresh::said());
  fresh::Random random(52);
  for (int k = 0; k < 3; k++) {
    const Case<double> one = Case<double>::make(triangles::scattered(random, random.whole(1, 90), 0.1), random, 6);
    for (const Grid& g : grids)
      for (int workers : {1, 3}) {
        NOTE("n = ", one.c.n, ", ", g.rows, " x ", g.columns, ", workers = ", workers);
        const Layout layout = lay_out(one.factor.pattern(), g);
        paper::HostSolve<double> host(one.factor, layout, {.workers = workers, .wait_threads = int(random.whole(1, 5))});
        for (int solve = 0; solve < 14; solve++) {  // 004-E9: flags and sums of the solve before are gone
          std::vector<double> x = one.nothing();
          host.solve(one.b.data(), x.data());
          CHECK(error_of(x, one.wanted) < 1e-11);
        }
      }
  }
}

TEST("004: unit diagonals, complex numbers and every kind of triangle by threads") {
  NOTE(fresh::said());
  fresh::Random random(53);
  for (const Columns& c : triangles::some(random, 5)) {
    const Case<Number> one = Case<Number>::make(c, random, i32(random.whole(1, 9)), random.chance(0.5));
    const Layout layout = lay_out(one.factor.pattern(), {2, 2});
    paper::HostSolve<Number> host(one.factor, layout);
    std::vector<Number> x = one.b;
    host.solve(x.data(), x.data());
    NOTE("n = ", c.n);
    CHECK(error_of(x, one.wanted) < 1e-11);
  }
}

TEST("004-E6, E7: with the printed tests and slots of line 38 on, solves hang or are wrong") {
  NOTE(fresh::said());
  fresh::Random random(54);
  const Case<double> one = Case<double>::make(triangles::nested_grid(9, 8, 5), random, 4);
  const Layout layout = lay_out(one.factor.pattern(), {1, 6});
  auto expects = [&](paper::Rank<double>& rank, i32 I) {
    return 2 - rank.part().row_mask[std::size_t(2 * I)] - rank.part().row_mask[std::size_t(2 * I + 1)];
  };
  auto flags = [](paper::Rank<double>& rank, i32 I) { return int(rank.has_come(2 * I)) + int(rank.has_come(2 * I + 1)); };
  auto add_all = [](paper::Rank<double>& rank, i32 I, const paper::Post<double>& post) {
    for (i32 slot : {2 * I, 2 * I + 1})
      if (rank.has_come(slot)) rank.add_slot(slot, I), rank.count_down(I, post);
  };
  const Outcomes right = outcomes(one, layout, random, {});
  CHECK(right.hang + right.wrong == 0);
  const Outcomes unequal = outcomes(one, layout, random, [&](auto& rank, i32 slot, const auto& post) {
    if (expects(rank, slot / 2) != flags(rank, slot / 2)) add_all(rank, slot / 2, post);
  });
  CHECK(unequal.hang == 40);
  const Outcomes equal = outcomes(one, layout, random, [&](auto& rank, i32 slot, const auto& post) {
    if (expects(rank, slot / 2) == flags(rank, slot / 2)) add_all(rank, slot / 2, post);
  });
  CHECK(equal.hang + equal.wrong > 10);
  const Outcomes slots = outcomes(one, layout, random, [&](auto& rank, i32 slot, const auto& post) {
    rank.add_slot(slot % 2 == 0 ? slot / 2 : slot / 2 * 2, slot / 2);
    rank.count_down(slot / 2, post);
  });
  CHECK(slots.wrong == 40);
}

TEST("004-E11: block columns that begin in another order than theirs starve those that would release them") {
  NOTE(fresh::said());
  fresh::Random random(55);
  const Case<double> one = Case<double>::make(triangles::nested_grid(6, 6, 3), random, 4);
  Layout layout = lay_out(one.factor.pattern(), {2, 1});
  paper::Part& part = layout.parts[0];
  const paper::Part before = part;
  std::reverse(part.columns.begin(), part.columns.end());
  part.blocks.clear(), part.begin.assign(1, 0);
  for (std::size_t k = before.columns.size(); k-- > 0; part.begin.push_back(i64(part.blocks.size())))
    part.blocks.insert(part.blocks.end(), before.blocks.begin() + before.begin[k], before.blocks.begin() + before.begin[k + 1]);
  std::vector<double> x = one.nothing();
  CHECK_THROWS((clock_solve(one.factor, layout, Machine{}, {.workers = 2}, one.b.data(), x.data())), Error, "the solve hangs");
  paper::HostSolve<double> host(one.factor, layout, {.workers = 2, .timeout = 0.2});
  CHECK_THROWS((host.solve(one.b.data(), x.data())), Error, "s in which nothing else moved");
  clock_solve(one.factor, layout, Machine{}, {.workers = 10000}, one.b.data(), x.data());  // all of them are resident
  CHECK(error_of(x, one.wanted) < 1e-11);
}

TEST("004: the virtual clock adds up what two block columns on two ranks take, one after the other") {
  NOTE(fresh::said());
  fresh::Random random(57);
  const i64 w = 20;
  const Case<double> one = Case<double>::make(triangles::scattered(random, 2 * w, 1), random, i32(w));
  const Layout layout = lay_out(one.factor.pattern(), {2, 1});
  REQUIRE(one.factor.pattern().count() == 2);
  const ClockOptions options{.step_seconds = 1e-6, .lone_bandwidth = 1e9};
  const Machine machine{.memory_bandwidth = 1e12, .link_latency_s = 3e-6, .link_bandwidth = 1e9, .put_overhead_s = 5e-7};
  std::vector<double> x = one.nothing();
  const ClockReport report = clock_solve(one.factor, layout, machine, options, one.b.data(), x.data());
  const double triangle = 1e-6 + double(w * w / 2 * 8) / 1e9, block = 1e-6 + double(w * w * 8) / 1e9;
  const double message = 5e-7 + 3e-6 + double(w * 8) / 1e9, begin = 1e-6;
  CHECK_NEAR(report.seconds, triangle + message + begin + block + triangle, 1e-12);
  CHECK_NEAR(report.waiting, (triangle + message) + (triangle + message + begin + block), 1e-12);  // columns 0, 1 of rank 1
  CHECK(report.messages == 1);
}

TEST("004: the transposed factor solves L^T x = b, on several ranks, and transposed again it is the first one") {
  NOTE(fresh::said());
  fresh::Random random(57);
  for (bool unit : {false, true}) {
    const auto one = Case<Number>::make(triangles::nested_grid(8, 6, 4), random, i32(random.whole(1, 20)), unit);
    const auto back = one.factor.transposed(), again = back.transposed();
    std::vector<Number> b(one.b.size(), Number{});  // L^T times what is wanted of L
    for (i64 j = 0; j < one.c.n; j++)
      for (i64 k = one.c.begin[std::size_t(j)]; k < one.c.begin[std::size_t(j) + 1]; k++) {
        const i32 i = one.c.rows[std::size_t(k)];
        const Number entry = unit && i == j ? Number{1, 0} : one.values[std::size_t(k)];
        b[std::size_t(j)] = b[std::size_t(j)] + entry * one.wanted[std::size_t(i)];
      }
    for (const Grid& g : {Grid{1, 1}, Grid{2, 3}}) {
      std::vector<Number> x = one.nothing();
      clock_solve(back, lay_out(back.pattern(), g), Machine{}, {.seed = 3}, b.data(), x.data());
      CHECK(error_of(x, one.wanted) < tolerance<Number>());
      clock_solve(again, lay_out(again.pattern(), g), Machine{}, {.seed = 3}, one.b.data(), x.data());
      CHECK(error_of(x, one.wanted) < tolerance<Number>());
    }
    CHECK(back.pattern().values() >= one.factor.pattern().values());
  }
}

TEST("004: supernodes of another triangle are refused") {
  NOTE(fresh::said());
  fresh::Random random(56);
  const Columns c = triangles::scattered(random, 30, 1), sparse = triangles::scattered(random, 30, 0);
  const auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  CHECK_THROWS((paper::Factor<double>(L, find_supernodes(triangles::grid(5, 1, 1).pattern()))), Error, "are of 5 rows");
  CHECK_THROWS((paper::Factor<double>(L, find_supernodes(sparse.pattern(), {.always = 1}))), Error, "have no place for");
}
