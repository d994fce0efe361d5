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

TEST("blocks of every width and strips of any rows: a wide pass has the bits of passes of eight [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(27);
  std::vector<i32> widths{1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 90, 91, 127, 128, 129, 156, 176, 177, 220, 255, 256};
  for (int k = 0; k < 30; k++) widths.push_back(i32(random.whole(1, 256)));
  for (const i32 width : widths) {
    const i64 n = width + random.whole(0, width < 20 ? 70 : 400);
    const Columns c = triangles::scattered(random, n, random.chance(0.5) ? 1 : 0.9);
    const std::vector<double> values = triangles::values_of<double>(c, random);
    const Factor<double> factor({c.pattern(), values.data()}, {.width = width});
    const i64 columns = random.whole(9, 32), in_eights = (columns + 7) / 8 * 8;
    const auto b = triangles::vector_of<double>(c.n * columns, random);
    std::vector<double> padded(std::size_t(c.n * in_eights)), wanted(padded.size()), found(b.size()), by_host(b.size());
    for (i64 i = 0; i < c.n; i++) std::copy_n(b.begin() + i * columns, columns, padded.begin() + i * in_eights);
    for (int ranks = 1; ranks <= test::gpus(); ranks *= 2) {
      const trsv_test::Plans plans(
          factor.blocks(), 8,
          {.ranks = ranks, .task_bytes = random.whole(1, 100000), .subtree_bytes = random.chance(0.7) ? 0 : 20000});
      const i64 long_bytes = random.whole(1, 400000);
      NOTE("width = ", width, ", n = ", c.n, ", columns = ", columns, ", ranks = ", ranks, ", long tasks of ", long_bytes);
      GpuSolve<double> narrow(factor, &plans.forward, nullptr, {.most_columns = 8}),
          wide(factor, &plans.forward, nullptr,
               {.most_columns = 32, .long_task_bytes = long_bytes, .blocks = int(random.chance(0.3) ? random.whole(1, 3) : 0)});
      CHECK(wide.most_columns(Direction::forward) == 32);
      narrow.solve(Direction::forward, padded.data(), wanted.data(), in_eights);
      HostSolve<double>(factor, plans.forward, {.threads = 2}).solve(b.data(), by_host.data(), columns);
      for (int twice = 0; twice < 2; twice++) {
        std::fill(found.begin(), found.end(), unknown<double>());
        wide.solve(Direction::forward, b.data(), found.data(), columns);
        bool same = true;
        for (i64 i = 0; i < c.n; i++)
          same = same && std::memcmp(&found[std::size_t(i * columns)], &wanted[std::size_t(i * in_eights)],
                                     std::size_t(columns) * sizeof(double)) == 0;
        CHECK(same);
        CHECK(trsv_test::distance(found, by_host) < trsv_test::tolerance<double>());
      }
    }
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
