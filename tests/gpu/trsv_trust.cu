// Triangular solves on GPUs that something else keeps busy at random, by one thread block to as many as there is room for.
#include <cmath>
#include <cstring>

#include "gpu/support.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/cuda/level_gpu_solve.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "unit/trsv/trust.hpp"

using namespace sordino;
using namespace sordino::trsv;

namespace {

__global__ void hold(u32 nanoseconds) {
  u64 now, until;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(until));
  until += nanoseconds;
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now < until);
}

/// Takes places of thread blocks on each GPU for a while, so that those of the next solve come late, and not at once.
class Disturbance {
 public:
  Disturbance() {
    for (int d = 0; d < test::gpus(); d++) {
      cudaSetDevice(d);
      cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking);
    }
    cudaSetDevice(0);
  }
  ~Disturbance() {
    for (cudaStream_t s : streams_) cudaStreamSynchronize(s), cudaStreamDestroy(s);
  }
  Disturbance(const Disturbance&) = delete;

  void begin(fresh::Random& random) {
    for (int d = 0; d < int(streams_.size()); d++) {
      if (random.chance(0.4)) continue;
      cudaSetDevice(d);
      for (i64 k = random.whole(1, 3); k > 0; k--)
        hold<<<unsigned(random.whole(1, 400)), unsigned(32 * random.whole(1, 32)), 0, streams_[std::size_t(d)]>>>(
            u32(random.whole(0, 60'000)));
    }
    cudaSetDevice(0);
  }

 private:
  std::vector<cudaStream_t> streams_;
};

template <class V>
bool near(const std::vector<V>& found, const std::vector<V>& wanted) {
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < found.size(); i++) {
    const double off = magnitude(found[i] - wanted[i]);
    most = off <= most ? most : std::isnan(off) ? INFINITY : off;
    scale = std::max(scale, magnitude(wanted[i]));
  }
  return most <= (std::is_same_v<V, float> ? 2e-4 : 1e-11) * scale;
}

/// One triangle by one solver, `turns` times: the host's to rounding, and always the bits of `first`.
template <class V, class Host, class Solve>
void solve_often(const trust::Problem<V>& p, Host host, Solve solve, i64 turns, std::vector<V>& first, Disturbance& busy,
                 fresh::Random& random) {
  std::vector<V> x(p.b.size());
  for (i64 turn = 0; turn < turns; turn++) {
    std::fill(x.begin(), x.end(), unknown<V>());
    busy.begin(random);
    solve(x.data());
    if (first.empty()) {
      std::vector<V> wanted(x.size());
      host(wanted.data());
      CHECK(near(x, wanted));
      first = x;
    }
    CHECK(std::memcmp(x.data(), first.data(), x.size() * sizeof(V)) == 0);
  }
}

int some_ranks(i64 most, fresh::Random& random) {
  int ranks = 1;
  while (2 * ranks <= std::min<i64>(test::gpus(), most) && random.chance(0.6)) ranks *= 2;
  return ranks;
}
/// 0: as many as there is room for.
int some_blocks(fresh::Random& random) { return random.chance(0.3) ? 0 : int(random.whole(1, random.chance(0.5) ? 4 : 300)); }

template <class V>
void solve_by_blocks(fresh::Random& random, i64 turns, Disturbance& busy) {
  const trust::Problem<V> p(random);
  const Factor<V> factor(p.view(), {.width = i32(random.whole(1, 200)),
                                    .threads = 2,
                                    .part_values = random.chance(0.5) ? random.whole(1, 20000) : most_of_strip});
  const i64 task_bytes = random.whole(1, 40000), subtree_bytes = random.whole(0, 40000);
  const int most = p.columns > 8 ? 32 : 4;
  std::vector<V> first;
  for (int solver = 0; solver < 3; solver++) {
    const int ranks = some_ranks(factor.blocks().count(), random), blocks = some_blocks(random);
    NOTE("n = ", p.c.n, ", ranks = ", ranks, ", thread blocks = ", blocks, ", columns = ", p.columns, ", direction ",
         int(p.direction), ", ", sizeof(V), " bytes a value");
    const Plan plan = make_plan(factor.blocks(), p.direction, sizeof(V),
                                {.ranks = ranks, .task_bytes = task_bytes, .subtree_bytes = subtree_bytes});
    const bool forward = plan.direction == Direction::forward;
    GpuSolve<V> gpu(factor, forward ? &plan : nullptr, forward ? nullptr : &plan, {.most_columns = most, .blocks = blocks});
    auto host = [&](V* x) { HostSolve<V>(factor, plan, {.threads = 2}).solve(p.b.data(), x, p.columns, p.conjugate); };
    auto solve = [&](V* x) { gpu.solve(p.direction, p.b.data(), x, p.columns, p.conjugate); };
    solve_often(p, host, solve, turns, first, busy, random);
  }
}

template <class V>
void solve_by_rows(fresh::Random& random, i64 turns, Disturbance& busy) {
  const trust::Problem<V> p(random);
  LevelFactor<V> factor(p.view());
  factor.prepare(p.direction);
  std::vector<V> first;
  for (int solver = 0; solver < 3; solver++) {
    const int ranks = some_ranks(p.c.n, random), blocks = some_blocks(random);
    NOTE("n = ", p.c.n, " by rows, ranks = ", ranks, ", thread blocks = ", blocks, ", columns = ", p.columns, ", direction ",
         int(p.direction), ", ", sizeof(V), " bytes a value");
    const Plan plan = make_level_plan(factor.rows(p.direction), {.ranks = ranks});
    LevelGpuSolve<V> gpu(factor, plan, {.most_columns = 4, .blocks = blocks});
    auto host = [&](V* x) { LevelHostSolve<V>(factor, plan, {.threads = 2}).solve(p.b.data(), x, p.columns, p.conjugate); };
    auto solve = [&](V* x) { gpu.solve(p.b.data(), x, p.columns, p.conjugate); };
    solve_often(p, host, solve, turns, first, busy, random);
  }
}

}  // namespace

TEST("no solve on GPUs hangs or has other bits: random triangles, some thread blocks or all, GPUs that are busy [gpu]") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(62);
  Disturbance busy;
  const i64 wanted = trust::wanted(1800), turns = std::clamp<i64>(wanted / 180, 10, 60);
  for (i64 made = 0; made < wanted; made += 18 * turns) {
    solve_by_blocks<double>(random, turns, busy), solve_by_rows<double>(random, turns, busy);
    solve_by_blocks<float>(random, turns, busy), solve_by_rows<float>(random, turns, busy);
    solve_by_blocks<Number>(random, turns, busy), solve_by_rows<Number>(random, turns, busy);
  }
}
