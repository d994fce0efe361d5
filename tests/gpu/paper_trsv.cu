// Paper 004's Algorithm 1 on GPUs against substitution and against threads of the host.
#include "gpu/support.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/cuda/paper_gpu_solve.hpp"
#include "sordino/trsv/paper_solve.hpp"
#include "unit/trsv/paper_cases.hpp"

using namespace sordino;
using namespace sordino::trsv;
using paper::Grid;
using paper::Layout;
using paper_cases::Case;
using paper_cases::error_of;
using paper_cases::tolerance;

namespace {

/// A grid of ranks, and how their kernels find room: with fewer GPUs than ranks, in few thread blocks beside each other.
struct Place {
  Grid grid;
  paper::GpuOptions options;
};

std::vector<Place> places(fresh::Random& random) {
  std::vector<Place> all;
  for (Grid g : {Grid{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1}, {1, 3}, {1, 4}, {2, 3}, {4, 2}, {8, 1}, {1, 8}}) {
    if (g.ranks() <= test::gpus()) all.push_back({g, {}});
    if (g.ranks() <= 4) all.push_back({g, {.devices = {0}, .blocks = int(random.whole(1, 16)), .timeout = 5}});
  }
  return all;
}

std::string said(const Place& p) {
  return std::to_string(p.grid.rows) + " x " + std::to_string(p.grid.columns) + " ranks, " + std::to_string(p.options.blocks) +
         " thread blocks" + (p.options.devices.empty() ? "" : " on one GPU");
}

template <class V>
void check_case(const Case<V>& one, fresh::Random& random, int solves) {
  for (const Place& place : places(random)) {
    NOTE("n = ", one.c.n, ", ", said(place), ", ", sizeof(V), " bytes a value");
    const Layout layout = lay_out(one.factor.pattern(), place.grid);
    std::vector<V> on_host = one.nothing();
    paper::HostSolve<V>(one.factor, layout).solve(one.b.data(), on_host.data());
    paper::GpuSolve<V> gpu(one.factor, layout, place.options);
    for (int k = 0; k < solves; k++) {  // 004-E9: of the solve before nothing is left
      std::vector<V> x = one.nothing();
      gpu.solve(one.b.data(), x.data());
      CHECK(error_of(x, one.wanted) < tolerance<V>());
      CHECK(error_of(x, on_host) < tolerance<V>());
    }
  }
}

}  // namespace

TEST("004 on GPUs: Algorithm 1 is substitution in all layouts, of every kind of triangle, real and complex [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(61);
  const auto grid = triangles::nested_grid(11, 10, 9);
  check_case(Case<double>::make(grid, random, i32(random.whole(1, 20)), random.chance(0.3)), random, 3);
  check_case(Case<float>::make(grid, random, i32(random.whole(1, 200))), random, 3);
  check_case(Case<Number>::make(grid, random, i32(random.whole(1, 200)), random.chance(0.3)), random, 3);
  for (const auto& c : triangles::some(random, 2))
    check_case(Case<double>::make(c, random, i32(random.whole(1, 30)), random.chance(0.5)), random, 2);
  check_case(Case<double>::make(triangles::scattered(random, 700, 0.05), random, 256), random, 3);
}

TEST("004 on GPUs: 100 solves without a new setup [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(62);
  check_case(Case<double>::make(triangles::nested_grid(15, 14, 13), random, 128), random, 100);
}

TEST("004 on GPUs: a larger triangle, several columns in place, new values, and times [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(63);
  const auto c = triangles::nested_grid(30, 29, 28);
  const Case<double> one = Case<double>::make(c, random, 128);
  auto values = one.values;
  for (double& v : values) v *= 1.5;
  const paper::Factor<double> other({c.pattern(), values.data()}, find_supernodes(c.pattern(), {.always = 3}), 128);
  std::vector<double> twice, wanted;
  for (std::size_t i = 0; i < one.b.size(); i++)
    twice.insert(twice.end(), {one.b[i], -2 * one.b[i]}), wanted.insert(wanted.end(), {one.wanted[i], -2 * one.wanted[i]});
  for (const Place& place : places(random)) {
    NOTE(said(place));
    const Layout layout = lay_out(one.factor.pattern(), place.grid);
    paper::GpuSolve<double> gpu(one.factor, layout, place.options);
    std::vector<double> x = twice;
    gpu.solve(x.data(), x.data(), 2);
    CHECK(error_of(x, wanted) < 1e-11);
    for (const paper::GpuSeconds& s : gpu.time(one.b.data(), 3)) {
      CHECK(s.kernel > 0);
      CHECK(s.whole >= s.kernel);
    }
    gpu.update(other);
    x = twice;
    gpu.solve(x.data(), x.data(), 2);
    for (double& v : x) v *= 1.5;
    CHECK(error_of(x, wanted) < 1e-11);
    CHECK(gpu.memory(0).values > 0);
  }
}

TEST("004 on GPUs: with invented values x is finite [gpu]") {
  test::need_gpu();
  fresh::Random random(64);
  const auto c = triangles::nested_grid(12, 12, 12);
  const paper::Pattern pattern = paper::pattern_of(find_supernodes(c.pattern()), 64);
  for (const Place& place : places(random)) {
    const Layout layout = lay_out(pattern, place.grid);
    paper::GpuSolve<double> gpu(pattern, layout, place.options);
    const std::vector<double> b(std::size_t(c.n), 1.0);
    std::vector<double> x(b.size(), unknown<double>());
    gpu.solve(b.data(), x.data());
    NOTE(said(place));
    CHECK(std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); }));
  }
}

TEST("004 on GPUs: a block column that nobody takes ends the solve, with a sentence, on all ranks [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(65);
  const Case<double> one = Case<double>::make(triangles::nested_grid(9, 8, 7), random, 8);
  for (Place place : places(random)) {
    NOTE(said(place));
    Layout layout = lay_out(one.factor.pattern(), place.grid);
    paper::Part& part = layout.parts[0];
    const i64 blocks = part.begin[1];
    part.columns.erase(part.columns.begin()), part.begin.erase(part.begin.begin());
    part.blocks.erase(part.blocks.begin(), part.blocks.begin() + blocks);
    for (i64& begin : part.begin) begin -= blocks;
    place.options.timeout = 0.3;
    paper::GpuSolve<double> gpu(one.factor, layout, place.options);
    std::vector<double> x = one.nothing();
    CHECK_THROWS(gpu.solve(one.b.data(), x.data()), Error, "a kernel waited 0.3 s for");
    CHECK_THROWS(gpu.solve(one.b.data(), x.data()), Error, "failed before");
  }
}

TEST("004 on GPUs: what they cannot do is refused in a sentence [gpu]") {
  test::need_gpu();
  fresh::Random random(66);
  const Case<double> one = Case<double>::make(triangles::scattered(random, 300, 1), random, 300);
  const Layout layout = lay_out(one.factor.pattern(), {1, 1}), many = lay_out(one.factor.pattern(), {5, 3});
  CHECK_THROWS((paper::GpuSolve<double>(one.factor, layout)), Error, "up to 256 columns");
  CHECK_THROWS((paper::GpuSolve<double>(one.factor, layout, {.blocks = -1})), Error, "one thread block or more");
  const Case<double> other = Case<double>::make(triangles::grid(4, 4, 4), random, 8);
  const Layout alone = lay_out(other.factor.pattern(), {1, 1});
  paper::GpuSolve<double> gpu(other.factor, alone);
  CHECK_THROWS(gpu.update(one.factor), Error, "must have its pattern");
  if (test::gpus() < 15) CHECK_THROWS((paper::GpuSolve<double>(one.factor, many, {.blocks = 1})), Error, "needs as many GPUs");
}
