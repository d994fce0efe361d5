// Triangular solves by threads of 1 to 7 ranks that are held up at random, and on a machine that delivers late at random.
#include "check.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/late_tasks.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#include "unit/trsv/oracle.hpp"
#include "unit/trsv/trust.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

/// The largest error of a column, against substitution in higher precision.
template <class V>
double error_of(const trust::Problem<V>& p, const std::vector<V>& x) {
  const oracle::How how = p.direction == Direction::forward ? oracle::How::plain
                          : p.conjugate                     ? oracle::How::adjoint
                                                            : oracle::How::transposed;
  double worst = 0;
  for (i64 k = 0; k < p.columns; k++) {
    std::vector<V> b;
    for (i64 i = 0; i < p.c.n; i++) b.push_back(p.b[std::size_t(i * p.columns + k)]);
    worst = std::max(worst, oracle::error_of(x, p.columns, k, oracle::substituted(p.c, p.values, p.unit, b, how)));
  }
  return worst;
}

/// One triangle, kept by blocks or by rows, solved with by `turns` plans: right, and always the same bits.
template <class V, class Host, class F, class MakePlan>
void solve_often(const trust::Problem<V>& p, const F& factor, MakePlan make, i64 turns, fresh::Random& random) {
  std::vector<V> first, x(p.b.size());
  for (i64 turn = 0; turn < turns; turn++) {
    const int ranks = int(random.whole(1, 7));
    NOTE("n = ", p.c.n, ", ranks = ", ranks, ", columns = ", p.columns, ", direction ", int(p.direction), ", ", sizeof(V),
         " bytes a value");
    const Plan plan = make(ranks);
    std::fill(x.begin(), x.end(), unknown<V>());
    if (turn % 3 == 2) {
      Machine machine;
      machine.triangular.workers = int(random.whole(1, 4));
      const ModelOptions how = model_options(machine, plan.direction, p.columns, u64(random.whole(1, 1 << 30)));
      model_solve(factor, plan, how, p.b.data(), x.data(), p.columns, p.conjugate);
    } else {
      Host host(factor, plan, {.threads = int(random.whole(1, 9)), .timeout = 30});
      host.before_task = late_tasks(u64(random.whole(0, i64(1) << 60)));
      host.solve(p.b.data(), x.data(), p.columns, p.conjugate);
    }
    if (first.empty()) {
      first = x;
      CHECK(error_of(p, x) < oracle::tolerance<V>());
    }
    CHECK(oracle::same_bits(x, first));
  }
}

template <class V>
void solve_by_blocks(fresh::Random& random, i64 turns) {
  const trust::Problem<V> p(random);
  const Factor<V> factor(p.view(), {.width = i32(random.whole(1, 40)),
                                    .threads = 1,
                                    .part_values = random.chance(0.8) ? random.whole(1, 500) : most_of_strip});
  auto plan = [&](int ranks) {
    const PlanOptions how{.ranks = ranks,
                          .workers = int(random.whole(1, 5)),
                          .task_bytes = random.whole(1, 4000),
                          .subtree_bytes = random.whole(0, 4000)};
    return make_plan(factor.blocks(), p.direction, sizeof(V), how);
  };
  solve_often<V, HostSolve<V>>(p, factor, plan, turns, random);
}

template <class V>
void solve_by_rows(fresh::Random& random, i64 turns) {
  const trust::Problem<V> p(random);
  LevelFactor<V> factor(p.view());
  factor.prepare(p.direction);
  auto plan = [&](int ranks) {
    return make_level_plan(factor.rows(p.direction), {.ranks = ranks, .task_entries = random.whole(1, 60)});
  };
  solve_often<V, LevelHostSolve<V>>(p, factor, plan, turns, random);
}

}  // namespace

TEST("no solve hangs or has other bits: random triangles, 1 to 7 ranks, tasks that are held up") {
  NOTE(fresh::said());
  fresh::Random random(61);
  constexpr i64 turns = 6;
  const i64 wanted = trust::wanted(900);
  for (i64 made = 0; made < wanted;) {
    solve_by_blocks<double>(random, turns), solve_by_rows<double>(random, turns);
    solve_by_blocks<float>(random, turns), solve_by_rows<float>(random, turns);
    solve_by_blocks<Number>(random, turns), solve_by_rows<Number>(random, turns);
    made += 6 * turns;
  }
}
