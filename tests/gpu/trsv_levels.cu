// Substitution by levels on GPUs: the bits of the host, which is compared with higher precision in tests/unit/trsv.
#include <cmath>
#include <cstring>

#include "gpu/support.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/cuda/level_gpu_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "unit/trsv/triangles.hpp"

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

namespace {

template <class V>
bool same_bits(const std::vector<V>& a, const std::vector<V>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0;
}

/// Of one triangle, on 1, 2, ... GPUs: the host's bits, with few thread blocks as with many, again and again, with passes of
/// different numbers of columns behind one another.
template <class V>
void check_solves(const Columns& c, fresh::Random& random, int most_columns) {
  const std::vector<V> values = triangles::values_of<V>(c, random);
  LevelFactor<V> factor({c.pattern(), values.data(), random.chance(0.3)});
  factor.prepare(Direction::backward);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    const LevelRows& rows = factor.rows(direction);
    for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
      if (ranks > c.n) break;
      const Plan plan = make_level_plan(rows, {.ranks = ranks, .task_entries = random.whole(1, 200)});
      check_level_plan(rows, plan);
      LevelHostSolve<V> host(factor, plan, {.threads = 2});
      for (int blocks : {0, 1, 7}) {
        LevelGpuSolve<V> gpu(factor, plan, {.most_columns = most_columns, .blocks = blocks});
        for (int turn = 0; turn < 4; turn++) {
          const i64 columns = random.whole(1, 11);
          const bool conjugate = random.chance(0.5);
          NOTE("n = ", c.n, ", ranks = ", ranks, ", blocks = ", blocks, ", columns = ", columns, " by ", most_columns,
               ", direction ", int(direction), conjugate ? ", conjugate" : "", ", ", sizeof(V), " bytes a value");
          const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
          std::vector<V> wanted(b.size()), found(b.size(), unknown<V>());
          host.solve(b.data(), wanted.data(), columns, conjugate);
          gpu.solve(b.data(), found.data(), columns, conjugate);
          CHECK(same_bits(found, wanted));
        }
      }
    }
  }
}

/// Each row needs the one before it, so that lanes of a warp wait for one another.
Columns chain(i64 n) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i64 i = 1; i < n; i++) below[std::size_t(i - 1)].push_back(i32(i));
  return triangles::columns_of(below);
}

}  // namespace

TEST("substitutions by levels on 1, 2, ... GPUs have the bits of the host, whatever the thread blocks [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(31);
  for (int most_columns : {1, 2, 4, 8}) {
    check_solves<double>(triangles::grid(17, 13, 11), random, most_columns);
    check_solves<float>(triangles::nested_grid(9, 8, 7), random, most_columns);
    check_solves<Number>(triangles::grid(8, 8, 7), random, most_columns);
    check_solves<double>(chain(random.whole(2, 300)), random, most_columns);
    check_solves<Number>(triangles::scattered(random, 300, 0.3), random, most_columns);  // rows of more than 64 entries
    check_solves<float>(triangles::scattered(random, random.whole(200, 500), 0.2), random, most_columns);
    for (const Columns& c : triangles::some(random, 2)) check_solves<double>(c, random, most_columns);
  }
}

TEST("a larger triangle by levels on GPUs, new values, and two solvers that take turns [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(32);
  const Columns c = triangles::grid(61, 60, 59);
  auto values = triangles::values_of<double>(c, random);
  LevelFactor<double> factor({c.pattern(), values.data()});
  for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
    const Plan plan = make_level_plan(factor.rows(Direction::forward), {.ranks = ranks});
    LevelGpuSolve<double> one(factor, plan), two(factor, plan, {.most_columns = 4});
    LevelHostSolve<double> host(factor, plan);
    const auto b = triangles::vector_of<double>(4 * c.n, random);
    std::vector<double> wanted(b.size()), found(b.size());
    for (int turn = 0; turn < 3; turn++) {
      for (double& v : values) v *= 1 + 0.1 * random.real(0, 1);
      factor.update({c.pattern(), values.data()});
      one.update(factor), two.update(factor);
      host.solve(b.data(), wanted.data(), 4);
      for (auto* gpu : {&one, &two, &one}) {
        gpu->solve(b.data(), found.data(), 4);
        CHECK(same_bits(found, wanted));
      }
    }
    CHECK(one.memory(0).values > 0);
  }
}

TEST("NaN and infinity on GPUs are numbers that are there: nothing waits for them forever [gpu]") {
  test::need_gpu();
  const Columns c = chain(100);
  std::vector<double> values(c.rows.size(), 1.0);
  const LevelFactor<double> factor({c.pattern(), values.data()});
  const Plan plan = make_level_plan(factor.rows(Direction::forward));
  LevelGpuSolve<double> gpu(factor, plan, {.timeout = 5});
  std::vector<double> b(100, 1.0), x(100);
  const u64 all_bits = ~u64(0);
  std::memcpy(&b[50], &all_bits, sizeof(double));  // the NaN that stands for a number that is not there yet
  b[70] = INFINITY;
  gpu.solve(b.data(), x.data());
  for (int i = 0; i < 100; i++) CHECK(std::isnan(x[std::size_t(i)]) == (i >= 50));
  b[50] = b[70] = 1;
  gpu.solve(b.data(), x.data());
  for (double v : x) CHECK(!std::isnan(v));
}

TEST("a GPU that waits for a row that nobody computes gives up, and says so [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(33);
  const Columns c = triangles::grid(12, 12, 12);
  const auto values = triangles::values_of<double>(c, random);
  const LevelFactor<double> factor({c.pattern(), values.data()});
  Plan plan = make_level_plan(factor.rows(Direction::forward), {.task_entries = 20});
  plan.queues[0].erase(plan.queues[0].begin());
  LevelGpuSolve<double> gpu(factor, plan, {.timeout = 0.5});
  const std::vector<double> b(std::size_t(c.n), 1.0);
  std::vector<double> x(b.size());
  CHECK_THROWS(gpu.solve(b.data(), x.data()), Error, "rows of a triangular solve");
}

TEST("what GPUs cannot do by levels is refused in a sentence [gpu]") {
  test::need_gpu();
  const Columns c = chain(40);
  const std::vector<double> values(c.rows.size(), 1.0);
  const LevelFactor<double> factor({c.pattern(), values.data()});
  const Plan plan = make_level_plan(factor.rows(Direction::forward)),
             many = make_level_plan(factor.rows(Direction::forward), {.ranks = 31});
  CHECK_THROWS((LevelGpuSolve<double>(factor, plan, {.most_columns = 3})), Error, "1, 2, 4 or 8 columns");
  CHECK_THROWS((LevelGpuSolve<double>(factor, many)), Error, "");
}
