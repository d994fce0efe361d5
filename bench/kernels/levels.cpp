// Triangular solves by levels, with the pattern of an incomplete factor without fill, ILU(0) or IC(0), of a grid and values
// made up: each row's entries add up to less than its pivot. One line of JSON.
//
//   bench_levels 7 128 [engine=cuda|host] [columns=1] [ranks=1] [direction=forward|backward] [blocks=0] [threads=0]
//                [order=natural|nested] [type=double|float] [beside=0] [repeats=15]
//
// 5 or 7 points, cells along a side. `nested`: dissection along planes. beside=1: what supernodes take on the host, where the
// pattern is filled with zeros.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

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
using namespace sordino::trsv;

struct Grid {
  i32 points, side;
  i32 depth() const { return points == 5 ? 1 : side; }
  i64 cells() const { return i64(side) * side * depth(); }
};

/// [cells] the place of each cell: as they are, or both halves of the longest side, then the plane between them.
std::vector<i32> places_of(const Grid& g, bool nested) {
  using Box = std::array<std::array<i32, 2>, 3>;
  std::vector<i32> place(std::size_t(g.cells()), 0);
  i32 next = 0;
  std::function<void(Box)> number = [&](Box box) {
    auto side = [&](std::size_t d) { return box[d][1] - box[d][0]; };
    std::size_t longest = 0;
    for (std::size_t d : {1, 2})
      if (side(d) > side(longest)) longest = d;
    if (nested && side(longest) > 3) {
      const i32 middle = (box[longest][0] + box[longest][1]) / 2;
      Box left = box, right = box;
      left[longest][1] = middle, right[longest][0] = middle + 1;
      number(left), number(right);
      box[longest] = {middle, middle + 1};
    }
    for (i32 z = box[2][0]; z < box[2][1]; z++)
      for (i32 y = box[1][0]; y < box[1][1]; y++)
        for (i32 x = box[0][0]; x < box[0][1]; x++) place[std::size_t(x + g.side * (y + i64(g.side) * z))] = next++;
  };
  number(Box{{{0, g.side}, {0, g.side}, {0, g.depth()}}});
  return place;
}

struct Triangle {
  std::vector<i64> begin;
  std::vector<i32> rows;  // of each column, the diagonal first
  LowerPattern pattern() const { return {i64(begin.size()) - 1, begin.data(), rows.data()}; }
};

Triangle lower_triangle(const Grid& g, bool nested) {
  const std::vector<i32> place = places_of(g, nested);
  std::vector<i64> cell(place.size());
  for (std::size_t c = 0; c < place.size(); c++) cell[std::size_t(place[c])] = i64(c);
  Triangle t{{0}, {}};
  for (std::size_t j = 0; j < cell.size(); j++) {
    const i64 c = cell[j], at[3] = {c % g.side, c / g.side % g.side, c / g.side / g.side},
              step[3] = {1, g.side, i64(g.side) * g.side}, sides[3] = {g.side, g.side, g.depth()};
    t.rows.push_back(i32(j));
    for (int d = 0; d < 3; d++)
      for (int side : {-1, 1})
        if (at[d] + side >= 0 && at[d] + side < sides[d])
          if (const i32 row = place[std::size_t(c + side * step[d])]; row > i32(j)) t.rows.push_back(row);
    t.begin.push_back(i64(t.rows.size()));
  }
  return t;
}

/// name=value
struct Words {
  std::map<std::string, std::string> values;
  Words(int argc, char** argv, int first) {
    for (int k = first; k < argc; k++) {
      const std::string word = argv[k];
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
  }
  bool is(const char* name, const char* value) const { return values.contains(name) && values.at(name) == value; }
  i64 number(const char* name, i64 otherwise) const {
    return values.contains(name) ? std::atoll(values.at(name).c_str()) : otherwise;
  }
};

double median_of(std::vector<double> seconds) {
  seconds.erase(seconds.begin(), seconds.begin() + 2);
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

template <class Solve>
double median_of(int repeats, const Solve& solve) {
  std::vector<double> seconds;
  for (int k = 0; k < repeats + 2; k++) {
    const double begin = seconds_now();
    solve();
    seconds.push_back(seconds_now() - begin);
  }
  return median_of(seconds);
}

template <class V>
double seconds_of(const LevelFactor<V>& factor, const Plan& plan, const std::vector<V>& b, i64 columns, const Words& words) {
  const int repeats = int(words.number("repeats", 15));
  if (words.is("engine", "host")) {
    LevelHostSolve<V> host(factor, plan, {.threads = int(words.number("threads", 0))});
    std::vector<V> x(b.size());
    return median_of(repeats, [&] { host.solve(b.data(), x.data(), columns); });
  }
#if SORDINO_WITH_CUDA
  int most = 1;
  while (2 * most <= std::min<i64>(columns, 8)) most *= 2;
  LevelGpuSolve<V> gpu(factor, plan, {.most_columns = most, .blocks = int(words.number("blocks", 0)), .timeout = 2});
  return median_of(gpu.time(b.data(), columns, repeats + 2));
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
              static_cast<long long>(filled_entries(L.pattern)), static_cast<long long>(factor.bytes()),
              median_of(int(words.number("repeats", 15)), [&] { host.solve(b.data(), x.data(), columns); }));
}

template <class V>
void measure(const Grid& grid, const Words& words) {
  const Triangle t = lower_triangle(grid, words.is("order", "nested"));
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
  for (const auto& [name, value] : words.values) std::printf(", \"%s\": \"%s\"", name.c_str(), value.c_str());
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
    words.is("type", "float") ? measure<float>({points, side}, words) : measure<double>({points, side}, words);
    return 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
