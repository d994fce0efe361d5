// Solves by plans, on threads and on the model, against substitution in higher precision.
#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#include "unit/trsv/oracle.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using namespace oracle;
using triangles::Columns;

/// Small tasks, so that small triangles have many of each kind.
PlanOptions small_tasks(int ranks, fresh::Random& random) {
  return {.ranks = ranks,
          .workers = int(random.whole(1, 5)),
          .task_bytes = random.whole(1, 4000),
          .subtree_bytes = random.whole(0, 4000)};
}

template <class V>
void check_solves(const Columns& c, fresh::Random& random) {
  const bool unit = random.chance(0.3);
  const std::vector<V> values = triangles::values_of<V>(c, random);
  const TriangleView<V> L{c.pattern(), values.data(), unit};
  const Factor<V> factor(L, {.width = i32(random.whole(1, 40)),
                             .threads = 2,
                             .part_values = random.chance(0.8) ? random.whole(1, 500) : most_of_strip});
  const i64 columns = random.whole(1, 5);
  const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
  for (How how : {How::plain, How::transposed, How::adjoint}) {
    std::vector<V> first;
    for (int ranks : {1, 2, 3, 7}) {
      NOTE("n = ", c.n, ", ranks = ", ranks, ", way ", int(how), ", columns = ", columns);
      const Plan plan = make_plan(factor.blocks(), how == How::plain ? Direction::forward : Direction::backward, sizeof(V),
                                  small_tasks(ranks, random));
      check_plan(factor.blocks(), plan);
      std::vector<V> x(b.size());
      HostSolve<V> host(factor, plan, {.threads = int(random.whole(1, 4))});
      for (int twice = 0; twice < 2; twice++) {
        std::fill(x.begin(), x.end(), unknown<V>());
        host.solve(b.data(), x.data(), columns, how == How::adjoint);
        if (first.empty()) first = x;
        CHECK(same_bits(x, first));
      }
      ModelOptions options{.workers = int(random.whole(1, 4)), .seed = u64(random.whole(1, 1 << 30))};
      model_solve(factor, plan, Machine{}, options, b.data(), x.data(), columns, how == How::adjoint);
      CHECK(same_bits(x, first));
    }
    for (i64 k = 0; k < columns; k++) {
      std::vector<V> of_column;
      for (i64 i = 0; i < c.n; i++) of_column.push_back(b[std::size_t(i * columns + k)]);
      CHECK(error_of(first, columns, k, substituted(c, values, unit, of_column, how)) < tolerance<V>());
    }
  }
}

}  // namespace

TEST("solves are those of substitution, with the same bits on threads and on the model, on 1, 2, 3 and 7 ranks") {
  NOTE(fresh::said());
  fresh::Random random(11);
  for (const Columns& c : triangles::some(random, 12)) {
    check_solves<double>(c, random);
    check_solves<float>(c, random);
    check_solves<Number>(c, random);
  }
}

TEST("a grid's triangle in nested order, with many threads") {
  NOTE(fresh::said());
  fresh::Random random(12);
  check_solves<double>(triangles::nested_grid(13, 12, 7), random);
}

TEST("new values take the old plan; another pattern is refused, and the old values stay") {
  NOTE(fresh::said());
  fresh::Random random(13);
  const Columns c = triangles::scattered(random, 50, 0.2);
  auto values = triangles::values_of<double>(c, random);
  Factor<double> factor({c.pattern(), values.data()});
  const Plan plan = make_plan(factor.blocks(), Direction::forward, 8);
  HostSolve<double> host(factor, plan);
  const auto b = triangles::vector_of<double>(c.n, random);
  std::vector<double> x(b.size()), doubled(b.size());
  host.solve(b.data(), x.data());
  for (double& v : values) v *= 2;
  factor.update({c.pattern(), values.data()});
  host.solve(b.data(), doubled.data());
  for (std::size_t i = 0; i < x.size(); i++) CHECK(doubled[i] == x[i] / 2);
  const Columns other = triangles::scattered(random, 50, 0.3);
  CHECK_THROWS((factor.update({other.pattern(), triangles::values_of<double>(other, random).data()})), Error, "pattern");
  host.solve(b.data(), x.data());
  CHECK(x == doubled);
}

TEST("what is no triangle is refused in a sentence that names the place") {
  const std::vector<i64> begin{0, 2, 3};
  auto refused = [&](std::vector<i32> rows, std::vector<double> values, const char* part) {
    CHECK_THROWS((Factor<double>({{2, begin.data(), rows.data()}, values.data()})), Error, part);
  };
  refused({0, 1, 0}, {1, 1, 1}, "not lower triangular: there is an entry at (0, 1)");
  refused({0, 1, 1}, {1, 1, 0}, "the pivot of row 1 is zero");
  refused({0, 1, 1}, {1, 1, 1e-310}, "the pivot of row 1 is so small");
  refused({1, 1, 1}, {1, 1, 1}, "two entries at (1, 0)");
  refused({0, 2, 1}, {1, 1, 1}, "row 2 of 2");
  refused({0, 1, 1}, {1, NAN, 1}, "the entry at (1, 0) of the triangle is not finite");
  const std::vector<i64> short_begin{0, 1, 1};
  const std::vector<i32> rows{0};
  const std::vector<double> values{1};
  CHECK_THROWS((Factor<double>({{2, short_begin.data(), rows.data()}, values.data()})), Error, "the pivot of row 1 is missing");
  CHECK_THROWS((Factor<double>({{0, begin.data(), rows.data()}, values.data()})), Error, "no rows");
}

TEST("a task that fails ends the solve on all threads with its sentence, and the next solve is right") {
  NOTE(fresh::said());
  fresh::Random random(14);
  const Columns c = triangles::grid(8, 8, 4);
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 8});
  const Plan plan = make_plan(factor.blocks(), Direction::forward, 8, {.ranks = 2, .task_bytes = 500, .subtree_bytes = 500});
  HostSolve<double> host(factor, plan, {.threads = 4});
  const auto b = triangles::vector_of<double>(c.n, random);
  std::vector<double> x(b.size()), again(b.size());
  host.solve(b.data(), x.data());
  const i32 middle = plan.count() / 2;
  host.before_task = [&](i32 task) {
    if (task == middle) throw Error(Errc::device, "a fault for the test");
  };
  CHECK_THROWS((host.solve(b.data(), again.data())), Error, "a fault for the test");
  host.before_task = {};
  host.solve(b.data(), again.data());
  CHECK(again == x);
}

TEST("a wait for a task that never ends is given up, with both tasks named") {
  NOTE(fresh::said());
  fresh::Random random(15);
  const Columns c = triangles::grid(6, 6, 4);
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 8});
  Plan plan = make_plan(factor.blocks(), Direction::forward, 8, {.ranks = 2, .task_bytes = 500, .subtree_bytes = 500});
  auto& queue = plan.queues[std::size_t(plan.tasks[0].rank)];
  queue.erase(queue.begin());  // nobody does the first task
  CHECK_THROWS((check_plan(factor.blocks(), plan)), Error, "stands in no queue");
  HostSolve<double> host(factor, plan, {.threads = 2, .timeout = 0.2});
  const auto b = triangles::vector_of<double>(c.n, random);
  std::vector<double> x(b.size());
  CHECK_THROWS((host.solve(b.data(), x.data())), Error, " s for task ");
  CHECK_THROWS((model_solve(factor, plan, Machine{}, {}, b.data(), x.data())), Error, "the solve hangs");
}
