// Triangular solves of vectors on a GPU, in streams of the caller's: by blocks, where small ones read b in place, and by
// levels.
#include "gpu/trsv_support.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/cuda/level_gpu_solve.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"

using namespace sordino;
using namespace sordino::trsv;
using namespace trsv_test;
using cuda::call;
using triangles::Columns;

namespace {

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
};

template <class V>
std::vector<V> on_host(const OnGpu<V>& x, const Stream& in) {
  std::vector<V> found(std::size_t(x.count()));
  call("cudaMemcpyAsync", cudaMemcpyAsync(found.data(), x.data(), std::size_t(x.bytes()), cudaMemcpyDeviceToHost, in.stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(in.stream));
  return found;
}

/// A triangle's solvers, by blocks or by levels, behind one call.
template <class V>
struct Solvers {
  Factor<V> factor;
  LevelFactor<V> rows;
  Plans plans;
  std::vector<Plan> level_plans;
  GpuSolve<V> by_blocks;
  LevelGpuSolve<V> forward, backward;

  Solvers(const TriangleView<V>& L, const PlanOptions& o, int blocks)
      : factor(L, {.width = 40}),
        rows(L),
        plans(factor.blocks(), sizeof(V), o),
        level_plans(prepared(rows)),
        by_blocks(factor, &plans.forward, &plans.backward, {.most_columns = 8, .blocks = blocks}),
        forward(rows, level_plans[0], {.most_columns = 8, .blocks = blocks}),
        backward(rows, level_plans[1], {.most_columns = 8, .blocks = blocks}) {}

  static std::vector<Plan> prepared(LevelFactor<V>& rows) {
    rows.prepare(Direction::backward);
    return {make_level_plan(rows.rows(Direction::forward)), make_level_plan(rows.rows(Direction::backward))};
  }
  bool solve(bool levels, Direction d, const V* b, V* x, i64 columns, const InStream& in) {
    if (!levels) return by_blocks.solve(d, b, x, columns, false, in);
    return (d == Direction::forward ? forward : backward).solve(b, x, columns, false, in);
  }
  void settle() { by_blocks.settle(), forward.settle(), backward.settle(); }
};

/// x beside b, or in its place, is what vectors of the host have, whoever waits.
template <class V>
void check_small(const Columns& c, fresh::Random& random, int blocks) {
  const std::vector<V> values = triangles::values_of<V>(c, random);
  Solvers<V> solvers({c.pattern(), values.data()},
                     {.task_bytes = random.whole(1, 40000), .subtree_bytes = random.whole(0, 40000)}, blocks);
  const Stream one, other;
  for (i64 columns = 1; columns <= 9; columns++) {
    const std::vector<V> b = triangles::vector_of<V>(c.n * columns, random);
    for (bool levels : {false, true})
      for (Direction direction : {Direction::forward, Direction::backward}) {
        NOTE("n = ", c.n, ", columns = ", columns, ", direction ", int(direction), levels ? ", by levels, " : ", by blocks, ",
             blocks, " thread blocks, ", sizeof(V), " bytes a value");
        std::vector<V> wanted(b.size());
        CHECK(solvers.solve(levels, direction, b.data(), wanted.data(), columns, {}));
        const OnGpu<V> given(b), beside(i64(b.size())), same(b);
        CHECK(solvers.solve(levels, direction, given.data(), beside.data(), columns, {.stream = one.stream, .waits = false}));
        CHECK(solvers.solve(levels, direction, same.data(), same.data(), columns, {.stream = other.stream}));
        CHECK(same_bits(on_host(beside, one), wanted));
        CHECK(same_bits(on_host(same, other), wanted));
        CHECK(same_bits(on_host(given, one), b));
      }
  }
  solvers.settle();
}

}  // namespace

TEST("small triangles, with vectors of a GPU in streams of the caller's, have the bits of vectors of the host [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(51);
  for (int blocks : {0, 1, 5}) {
    check_small<double>(triangles::nested_grid(9, 8, 7), random, blocks);
    check_small<float>(triangles::nested_grid(8, 7, 6), random, blocks);
    check_small<Number>(triangles::nested_grid(7, 6, 5), random, blocks);
    check_small<double>(triangles::scattered(random, random.whole(1, 200), 0.05), random, blocks);
    for (const Columns& c : triangles::some(random, 1)) check_small<float>(c, random, blocks);
  }
}

TEST("a solve says whether x is finite, of each row that is not, and of the next solve again [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(52);
  const Columns c = triangles::nested_grid(6, 5, 4);
  const std::vector<double> values = triangles::values_of<double>(c, random);
  Solvers<double> solvers({c.pattern(), values.data()}, {.task_bytes = 3000, .subtree_bytes = 3000}, 0);
  double ones = 0;  // the NaN that stands for a number that is not there yet
  const u64 all_bits = ~u64(0);
  std::memcpy(&ones, &all_bits, sizeof ones);
  for (i64 columns : {1, 3, 8})
    for (bool levels : {false, true})
      for (Direction direction : {Direction::forward, Direction::backward})
        for (i64 row = 0; row < c.n; row++) {
          std::vector<double> b = triangles::vector_of<double>(c.n * columns, random), x(b.size());
          const i64 column = random.whole(0, columns - 1);
          b[std::size_t(row * columns + column)] = row % 3 == 0 ? ones : row % 3 == 1 ? INFINITY : -NAN;
          NOTE("row ", row, ", column ", column, " of ", columns, ", direction ", int(direction), levels ? ", by levels" : "");
          const OnGpu<double> given(b), found(i64(b.size()));
          CHECK(!solvers.solve(levels, direction, given.data(), found.data(), columns, {}));
          CHECK(!solvers.solve(levels, direction, b.data(), x.data(), columns, {}));
          CHECK(!std::isfinite(x[std::size_t(row * columns + column)]));
          const std::vector<double> good(b.size(), 1.0);
          CHECK(
              solvers.solve(levels, direction, given.data(), found.data(), columns, {.waits = false}));  // of which nobody asks
          CHECK(solvers.solve(levels, direction, good.data(), x.data(), columns, {}));
        }
}

TEST("solves that are under way are waited for by new values, and by whatever takes their memory [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(53);
  const Columns c = triangles::nested_grid(24, 23, 22);
  const std::vector<double> values = triangles::values_of<double>(c, random);
  std::vector<double> doubled(values);
  for (double& v : doubled) v *= 2;
  Factor<double> factor({c.pattern(), values.data()});
  const Plans plans(factor.blocks(), 8, {});
  const Stream own;
  const std::vector<double> b = triangles::vector_of<double>(c.n, random);
  const OnGpu<double> given(b);
  std::vector<double> wanted(b.size());
  auto gpu = std::make_unique<GpuSolve<double>>(factor, &plans.forward, &plans.backward);
  gpu->solve(Direction::forward, b.data(), wanted.data());
  std::vector<OnGpu<double>> found;
  for (int k = 0; k < 20; k++) found.emplace_back(c.n);
  for (auto& x : found)
    gpu->solve(Direction::forward, given.data(), x.data(), 1, false, {.stream = own.stream, .waits = false});
  factor.update({c.pattern(), doubled.data()});
  gpu->update(factor);
  for (const auto& x : found) CHECK(same_bits(on_host(x, own), wanted));
  for (auto& x : found)
    gpu->solve(Direction::forward, given.data(), x.data(), 1, false, {.stream = own.stream, .waits = false});
  gpu.reset();
  for (double& v : wanted) v /= 2;
  for (const auto& x : found) CHECK(same_bits(on_host(x, own), wanted));
}

TEST("a solve that waits in vain in a caller's stream is told by the next one [gpu]") {
  test::need_gpu();
  const Columns c = triangles::nested_grid(12, 12, 12);
  const std::vector<double> values(c.rows.size(), 1.0);
  const Factor<double> factor({c.pattern(), values.data()}, {.width = 32});
  Plan plan = make_plan(factor.blocks(), Direction::forward, 8, {.task_bytes = 4000, .subtree_bytes = 4000});
  plan.queues[0].erase(plan.queues[0].begin());
  const Stream own;
  const OnGpu<double> b(std::vector<double>(std::size_t(c.n), 1.0)), x(c.n);
  for (bool settles : {true, false}) {
    GpuSolve<double> gpu(factor, &plan, nullptr, {.timeout = 0.5});
    gpu.solve(Direction::forward, b.data(), x.data(), 1, false, {.stream = own.stream, .waits = false});
    call("cudaStreamSynchronize", cudaStreamSynchronize(own.stream));
    if (settles)
      CHECK_THROWS(gpu.settle(), Error, "tasks of a triangular solve");
    else
      CHECK_THROWS(gpu.solve(Direction::forward, b.data(), x.data()), Error, "tasks of a triangular solve");
    CHECK(gpu.has_failed());
  }
}
