// Triangular solves on GPUs with passes of 16 and 32 columns, beside the host's and beside passes of eight.
#include "gpu/trsv_support.hpp"

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

namespace {

/// One triangle, for numbers of columns that fill wide passes and that do not: right, with few thread blocks as with many, on
/// 1, 2, ... GPUs, and the bits that passes of eight have.
template <class V>
void check_wide(const Columns& c, fresh::Random& random, int most_columns) {
  const std::vector<V> values = triangles::values_of<V>(c, random);
  const Factor<V> factor({c.pattern(), values.data(), random.chance(0.3)}, {.width = i32(random.whole(1, 256))});
  const i64 task_bytes = random.whole(1, 40000), subtree_bytes = random.whole(0, 40000);
  for (i64 columns : {9, 16, 17, 31, 32, 33, 64}) {
    const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
    const Direction direction = random.chance(0.7) ? Direction::forward : Direction::backward;
    std::vector<V> wanted(b.size()), found(b.size()), in_eights, in_wide;
    for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
      const trsv_test::Plans plans(factor.blocks(), sizeof(V),
                                   {.ranks = ranks, .task_bytes = task_bytes, .subtree_bytes = subtree_bytes});
      HostSolve<V>(factor, plans.of(direction), {.threads = 2}).solve(b.data(), wanted.data(), columns);
      for (int blocks : {0, 1, 7})
        for (int most : {8, most_columns}) {
          const i64 long_bytes = random.whole(1, 200000);
          NOTE("n = ", c.n, ", ranks = ", ranks, ", columns = ", columns, " by ", most, ", direction ", int(direction),
               ", thread blocks = ", blocks, ", long tasks of ", long_bytes, " bytes, ", sizeof(V), " bytes a value");
          GpuSolve<V> gpu(factor, &plans.forward, &plans.backward,
                          {.most_columns = most, .long_task_bytes = long_bytes, .blocks = blocks});
          std::vector<V>& first = most > 8 ? in_wide : in_eights;
          for (int twice = 0; twice < 2; twice++) {
            std::fill(found.begin(), found.end(), unknown<V>());
            gpu.solve(direction, b.data(), found.data(), columns);
            CHECK(trsv_test::distance(found, wanted) < trsv_test::tolerance<V>());
            if (first.empty()) first = found;
            CHECK(trsv_test::same_bits(found, first));
          }
        }
    }
    if (columns % 8 == 0) CHECK(trsv_test::same_bits(in_wide, in_eights));  // others have passes of fewer than eight, too
  }
}

}  // namespace

TEST("passes of 16 and 32 columns are right, whatever the columns, and have the bits of passes of eight [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(25);
  for (int most : {16, 32}) {
    check_wide<double>(triangles::nested_grid(14, 12, 11), random, most);
    check_wide<double>(triangles::scattered(random, 300, 0.05), random, most);
    for (const Columns& c : triangles::some(random, 1)) check_wide<double>(c, random, most);
    check_wide<float>(triangles::nested_grid(9, 8, 7), random, most);
    check_wide<Number>(triangles::nested_grid(8, 8, 7), random, most);
  }
}

TEST("a larger triangle with wide passes and narrow ones by turns, and new values [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(26);
  const Columns c = triangles::nested_grid(30, 29, 28);
  auto values = triangles::values_of<double>(c, random);
  Factor<double> factor({c.pattern(), values.data()});
  for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
    const trsv_test::Plans plans(factor.blocks(), 8, {.ranks = ranks});
    GpuSolve<double> wide(factor, &plans.forward, &plans.backward, {.most_columns = 32}),
        narrow(factor, &plans.forward, &plans.backward, {.most_columns = 8});
    for (int turn = 0; turn < 10; turn++) {
      for (double& v : values) v *= 1 + 0.1 * random.real(0, 1);
      factor.update({c.pattern(), values.data()});
      wide.update(factor), narrow.update(factor);
      const i64 columns = 8 * random.whole(1, 9);
      const Direction direction = random.chance(0.2) ? Direction::backward : Direction::forward;
      NOTE("ranks = ", ranks, ", turn ", turn, ", columns = ", columns, ", direction ", int(direction));
      const auto b = triangles::vector_of<double>(columns * c.n, random);
      std::vector<double> wanted(b.size()), found(b.size());
      narrow.solve(direction, b.data(), wanted.data(), columns);
      wide.solve(direction, b.data(), found.data(), columns);
      CHECK(trsv_test::same_bits(found, wanted));
    }
  }
}
