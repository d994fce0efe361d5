// Triangular solves on GPUs against the host's, which are compared with substitution in tests/unit/trsv.
#include "gpu/trsv_support.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/invented.hpp"

using namespace sordino;
using namespace sordino::trsv;
using namespace trsv_test;
using triangles::Columns;

namespace {

/// Of one triangle, on 1, 2, ... GPUs: right, and the same bits on any number of them, with few thread blocks as with many,
/// again and again.
template <class V>
void check_solves(const Columns& c, fresh::Random& random, int most_columns) {
  const std::vector<V> values = triangles::values_of<V>(c, random);
  const Factor<V> factor(
      {c.pattern(), values.data(), random.chance(0.3)},
      {.width = i32(random.whole(1, 200)), .part_values = random.chance(0.5) ? random.whole(1, 20000) : most_of_strip});
  const i64 columns = random.whole(1, 11), task_bytes = random.whole(1, 40000), subtree_bytes = random.whole(0, 40000);
  const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
  for (Direction direction : {Direction::forward, Direction::backward})
    for (bool conjugate : {false, true}) {
      std::vector<V> wanted(b.size()), found(b.size()), again;
      for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
        NOTE("n = ", c.n, ", ranks = ", ranks, ", columns = ", columns, " by ", most_columns, ", direction ", int(direction),
             conjugate ? ", conjugate" : "", ", ", sizeof(V), " bytes a value");
        const Plans plans(factor.blocks(), sizeof(V),
                          {.ranks = ranks, .task_bytes = task_bytes, .subtree_bytes = subtree_bytes});
        HostSolve<V>(factor, direction == Direction::forward ? plans.forward : plans.backward, {.threads = 2})
            .solve(b.data(), wanted.data(), columns, conjugate);
        for (int blocks : {0, 1, 7}) {
          GpuSolve<V> gpu(factor, &plans.forward, &plans.backward, {.most_columns = most_columns, .blocks = blocks});
          for (int twice = 0; twice < 2; twice++) {
            std::fill(found.begin(), found.end(), unknown<V>());
            gpu.solve(direction, b.data(), found.data(), columns, conjugate);
            if (again.empty()) {
              CHECK(distance(found, wanted) < tolerance<V>());
              again = found;
            }
            CHECK(same_bits(found, again));
          }
        }
      }
    }
}

}  // namespace

TEST("triangular solves on 1, 2, ... GPUs are the host's to rounding, whatever the thread blocks [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(21);
  for (int most_columns : {1, 2, 4, 8}) {
    check_solves<double>(triangles::nested_grid(13, 11, 9), random, most_columns);
    check_solves<float>(triangles::nested_grid(9, 8, 7), random, most_columns);
    check_solves<Number>(triangles::nested_grid(8, 8, 7), random, most_columns);
    for (const Columns& c : triangles::some(random, 1)) check_solves<double>(c, random, most_columns);
    check_solves<double>(triangles::scattered(random, 300, 0.05), random, most_columns);
  }
}

TEST("a larger triangle on GPUs, new values, and two solvers that take turns [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(22);
  const Columns c = triangles::nested_grid(30, 29, 28);
  auto values = triangles::values_of<double>(c, random);
  Factor<double> factor({c.pattern(), values.data()});
  for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
    const Plans plans(factor.blocks(), 8, {.ranks = ranks});
    GpuSolve<double> one(factor, &plans.forward, &plans.backward),
        two(factor, &plans.forward, &plans.backward, {.most_columns = 4});
    const auto b = triangles::vector_of<double>(4 * c.n, random);
    std::vector<double> wanted(b.size()), found(b.size());
    for (int turn = 0; turn < 3; turn++) {
      for (double& v : values) v *= 1 + 0.1 * random.real(0, 1);
      factor.update({c.pattern(), values.data()});
      one.update(factor), two.update(factor);
      for (Direction direction : {Direction::forward, Direction::backward}) {
        HostSolve<double>(factor, direction == Direction::forward ? plans.forward : plans.backward)
            .solve(b.data(), wanted.data(), 4);
        one.solve(direction, b.data(), found.data(), 4);
        CHECK(distance(found, wanted) < 1e-11);
        two.solve(direction, b.data(), found.data(), 4);
        CHECK(distance(found, wanted) < 1e-11);
      }
    }
  }
}

TEST("invented values are the same on GPUs as anywhere [gpu]") {
  test::need_gpu();
  const Columns c = triangles::nested_grid(12, 12, 12);
  const Blocks blocks = cut(find_supernodes(c.pattern()), 64);
  const Plan plan = make_plan(blocks, Direction::forward, 8, {.task_bytes = 10000, .subtree_bytes = 10000});
  GpuSolve<double> gpu(blocks, &plan, nullptr);
  const std::vector<double> b(std::size_t(c.n), 1.0);
  std::vector<double> x(b.size()), v(b), wanted(b.size());
  gpu.solve(Direction::forward, b.data(), x.data());
  std::vector<double> in_order(b.size());
  for (const Block& block : blocks.blocks)  // the fronts' products, row by row
    for (i32 k = 0; k < block.strips(); k++) {
      const Strip s = strip_of(block, k);
      const i64 first = blocks.strips[std::size_t(block.strip + k)];
      for (i32 j = 0; j < s.columns; j++)
        for (i32 i = 0; i < s.rows; i++) {
          const i32 row = blocks.rows[std::size_t(block.rows + s.first + i)];
          const double term = invented<double>(first + i64(j) * s.lead + i) * v[std::size_t(block.column + j)];
          if (s.first + i < block.width)
            in_order[std::size_t(row)] += term;
          else
            v[std::size_t(row)] -= term;
        }
    }
  for (std::size_t k = 0; k < x.size(); k++) wanted[std::size_t(blocks.order[k])] = in_order[k];
  CHECK(distance(x, wanted) < 1e-12);
}

TEST("passes of different numbers of columns, in both directions by turns, find their places empty [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(24);
  const Columns c = triangles::nested_grid(14, 13, 12);
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 100, .part_values = 3000});
  for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
    const Plans plans(factor.blocks(), 8, {.ranks = ranks, .task_bytes = 20000, .subtree_bytes = 20000});
    GpuSolve<double> gpu(factor, &plans.forward, &plans.backward, {.most_columns = 4});
    for (int turn = 0; turn < 12; turn++) {
      const Direction direction = random.chance(0.7) ? Direction::backward : Direction::forward;
      const i64 columns = random.whole(1, 7);
      NOTE("ranks = ", ranks, ", turn ", turn, ", direction ", int(direction), ", columns = ", columns);
      const auto b = triangles::vector_of<double>(columns * c.n, random);
      std::vector<double> wanted(b.size()), found(b.size());
      HostSolve<double>(factor, direction == Direction::forward ? plans.forward : plans.backward)
          .solve(b.data(), wanted.data(), columns);
      gpu.solve(direction, b.data(), found.data(), columns);
      CHECK(distance(found, wanted) < tolerance<double>());
    }
  }
}

TEST("a GPU that waits for what nobody computes gives up, and says for what [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(23);
  const Columns c = triangles::nested_grid(12, 12, 12);
  const auto values = triangles::values_of<double>(c, random);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 32});
  for (Direction direction : {Direction::forward, Direction::backward}) {
    Plan plan = make_plan(factor.blocks(), direction, 8, {.task_bytes = 4000, .subtree_bytes = 4000});
    plan.queues[0].erase(plan.queues[0].begin());
    const bool forward = direction == Direction::forward;
    GpuSolve<double> gpu(factor, forward ? &plan : nullptr, forward ? nullptr : &plan, {.timeout = 0.5});
    const std::vector<double> b(std::size_t(c.n), 1.0);
    std::vector<double> x(b.size());
    CHECK_THROWS(gpu.solve(direction, b.data(), x.data()), Error, "tasks of a triangular solve");
  }
}

TEST("what GPUs cannot do is refused in a sentence [gpu]") {
  test::need_gpu();
  const Blocks blocks = cut(find_supernodes(triangles::grid(3, 3, 3).pattern()), 8);
  const Plan plan = make_plan(blocks, Direction::forward, 8), many = make_plan(blocks, Direction::forward, 8, {.ranks = 31});
  CHECK_THROWS((GpuSolve<double>(blocks, &plan, nullptr, {.most_columns = 3})), Error, "1, 2, 4, 8, 16 or 32 columns");
  CHECK_THROWS((GpuSolve<double>(blocks, nullptr, nullptr)), Error, "a plan for one direction or for both");
  CHECK_THROWS((GpuSolve<double>(blocks, &many, nullptr)), Error, "");
  GpuSolve<double> gpu(blocks, &plan, nullptr);
  double b[27] = {}, x[27];
  CHECK_THROWS(gpu.solve(Direction::backward, b, x), Error, "no plan for this direction");
}
