// Triangular solves by levels, with the pattern of an incomplete factor without fill, ILU(0) or IC(0), of a grid and values
// made up: each row's entries add up to less than its pivot. One line of JSON.
//
//   bench_levels 7 128 [engine=cuda|host] [columns=1] [ranks=1] [direction=forward|backward] [blocks=0] [threads=0]
//                [order=natural|nested] [type=double|float] [beside=0] [repeats=15]
//
// 5 or 7 points, cells along a side. `nested`: dissection along planes. beside=1: what supernodes take on the host, where the
// pattern is filled with zeros.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "grid_triangles.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/trsv/cuda/level_gpu_solve.hpp"
#endif

namespace {
using namespace sordino;
using namespace bench;
using namespace sordino::trsv;

template <class Solve>
double seconds_of(int repeats, const Solve& solve) {
  std::vector<double> seconds;
  for (int k = 0; k < repeats + 2; k++) {
    const double begin = seconds_now();
    solve();
    seconds.push_back(seconds_now() - begin);
  }
  return median_of(seconds, 2);
}

template <class V>
double seconds_of(const LevelFactor<V>& factor, const Plan& plan, const std::vector<V>& b, i64 columns, const Words& words) {
  const int repeats = int(words.number("repeats", 15));
  if (words.is("engine", "host")) {
    LevelHostSolve<V> host(factor, plan, {.threads = int(words.number("threads", 0))});
    std::vector<V> x(b.size());
    return seconds_of(repeats, [&] { host.solve(b.data(), x.data(), columns); });
  }
#if SORDINO_WITH_CUDA
  int most = 1;
  while (2 * most <= std::min<i64>(columns, 8)) most *= 2;
  LevelGpuSolve<V> gpu(factor, plan, {.most_columns = most, .blocks = int(words.number("blocks", 0)), .timeout = 2});
  return median_of(gpu.time(b.data(), columns, repeats + 2), 2);
#else
  throw Error(Errc::unsupported, "this build has no CUDA: say engine=host");
#endif
}

/// By supernodes, on the host.
template <class V>
void print_beside(const TriangleView<V>& L, Direction direction, const std::vector<V>& b, i64 columns, const Words& words) {
  const int threads = int(words.number("threads", 0));
  const Factor<V> factor(L, {.threads = threads});
  const Plan plan = make_plan(factor.blocks(), direction, sizeof(V), {.workers = std::max(threads, 1)});
  HostSolve<V> host(factor, plan, {.threads = threads});
  std::vector<V> x(b.size());
  std::printf(", \"filled_entries\": %lld, \"supernode_bytes\": %lld, \"supernode_seconds\": %.6g",
              static_cast<long long>(eliminate(L.pattern).filled()), static_cast<long long>(factor.bytes()),
              seconds_of(int(words.number("repeats", 15)), [&] { host.solve(b.data(), x.data(), columns); }));
}

template <class V>
void measure(const Grid& grid, const Words& words) {
  const Triangle t = lower_triangle(grid, words.is("order", "nested") ? nested_order(grid) : natural_order(grid));
  std::vector<V> values;
  for (i64 j = 0; j < t.pattern().n; j++)
    for (i64 k = t.begin[std::size_t(j)]; k < t.begin[std::size_t(j) + 1]; k++)
      values.push_back(t.rows[std::size_t(k)] == j ? V(4) : V(-1) - V(k % 7) / 16);
  const TriangleView<V> L{t.pattern(), values.data()};
  const Direction direction = words.is("direction", "backward") ? Direction::backward : Direction::forward;
  const double begin = seconds_now();
  LevelFactor<V> factor(L);
  factor.prepare(direction);
  const LevelRows& rows = factor.rows(direction);
  const double set_up = seconds_now();
  const Plan plan = make_level_plan(rows, {.ranks = int(words.number("ranks", 1))});
  const double planned = seconds_now();
  check_level_plan(rows, plan);
  const i64 columns = words.number("columns", 1);
  const std::vector<V> b(std::size_t(rows.n * columns), V(1));
  const double seconds = seconds_of(factor, plan, b, columns, words);
  // values and columns of the entries; of a row its pivot, and b, x and the result of each right-hand side
  const i64 bytes = rows.entries() * i64(sizeof(V) + sizeof(i32)) + rows.n * i64(sizeof(V)) * (1 + 3 * columns);
  std::printf("{\"points\": %d, \"side\": %d, \"n\": %lld, \"entries\": %lld, \"levels\": %d, \"tasks\": %d, \"bytes\": %lld, ",
              grid.points, grid.side, static_cast<long long>(rows.n), static_cast<long long>(factor.entries()), rows.levels(),
              plan.count(), static_cast<long long>(bytes));
  std::printf("\"setup_seconds\": %.3g, \"plan_seconds\": %.3g, \"ms\": %.5g, \"us_a_level\": %.4g, \"bytes_per_second\": %.4g",
              set_up - begin, planned - set_up, 1e3 * seconds, 1e6 * seconds / rows.levels(), double(bytes) / seconds);
  if (words.number("beside", 0) != 0) print_beside(L, direction, b, columns, words);
  print_words(words);
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int points = argc < 3 ? 0 : std::atoi(argv[1]), side = argc < 3 ? 0 : std::atoi(argv[2]);
  if ((points != 5 && points != 7) || side < 1) {
    std::fprintf(stderr, "usage: %s 5|7 SIDE [name=value]...\n", argv[0]);
    return 2;
  }
  try {
    const Words words(argc, argv, 3);
    words.is("type", "float") ? measure<float>({points, side, 1}, words) : measure<double>({points, side, 1}, words);
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
