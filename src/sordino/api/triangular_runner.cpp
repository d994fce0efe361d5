#include "sordino/api/triangular_runner.hpp"

#include <algorithm>
#include <utility>

#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/config.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/noise.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/late_tasks.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#include "sordino/trsv/paper_clock.hpp"
#include "sordino/trsv/paper_solve.hpp"
#include "sordino/trsv/paper_steps.hpp"
#include "sordino/trsv/ranks_solve.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/triangular.hpp"
#endif

namespace sordino {
namespace {

/// Makes tasks of a solver's threads late, others in each solve; of seed 0 none.
class Lateness {
 public:
  explicit Lateness(u64 seed) : seed_(seed) {}
  template <class Solve>
  void before(Solve& solve) {
    if (seed_ != 0) solve.before_task = trsv::late_tasks(model::mix(seed_) + solves_++);
  }

 private:
  u64 seed_, solves_ = 0;
};

/// `numbers`: that a solve keeps for each right-hand side.
template <class V, class Solve>
class HostRunner final : public TriangularRunner<V> {
 public:
  template <class F>
  HostRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options, i64 numbers)
      : numbers_(numbers),
        late_(options.seed),
        solve_(factor, plan, {.threads = options.threads, .timeout = options.timeout}) {}
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    most_columns_ = std::max(most_columns_, columns);
    late_.before(solve_);
    solve_.solve(b, x, columns, conjugate);
  }
  i64 bytes() const override { return i64(sizeof(V)) * most_columns_ * numbers_; }

 private:
  i64 numbers_;
  Lateness late_;
  Solve solve_;
  i64 most_columns_ = 0;
};

/// Ranks of this and all other processes, a thread each. `numbers`: that each of them keeps for each right-hand side.
template <class V>
class ProcessRunner final : public TriangularRunner<V> {
 public:
  template <class F>
  ProcessRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options, i64 rows, i64 numbers)
      : rows_(rows),
        numbers_(numbers),
        late_(options.seed),
        engine_(engine_of(plan, options.timeout)),
        solve_(*engine_, factor, plan) {}
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    most_columns_ = std::max(most_columns_, columns);
    late_.before(solve_);
    solve_.solve(b, x, columns, conjugate);
  }
  i64 bytes() const override { return i64(sizeof(V)) * most_columns_ * (engine_->local_ranks() * numbers_ + rows_); }

 private:
  static std::unique_ptr<Engine> engine_of(const trsv::Plan& plan, double timeout) {
    const auto processes = all_processes(timeout);
    const int ranks = plan.ranks / (processes ? processes->count() : 1);
    return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks, .timeout = timeout},
                                              processes ? processes->transport(ranks) : nullptr);
  }

  i64 rows_, numbers_;
  Lateness late_;
  std::unique_ptr<Engine> engine_;
  trsv::RanksSolve<V> solve_;
  i64 most_columns_ = 0;
};

/// Paper 004's Algorithm 1, which knows one right-hand side: `solve_one` does one. For L^H x = b it solves with the transposed
/// triangle, and conjugates b and x.
template <class V, class SolveOne>
class PaperRunner final : public TriangularRunner<V> {
 public:
  PaperRunner(i64 n, SolveOne solve_one) : b_(std::size_t(n)), x_(std::size_t(n)), solve_one_(std::move(solve_one)) {}
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    seconds_ = 0;
    const auto taken = [&](V v) { return conjugate ? trsv::conjugate(v) : v; };
    for (i64 k = 0; k < columns; k++) {
      for (std::size_t i = 0; i < b_.size(); i++) b_[i] = taken(b[i64(i) * columns + k]);
      seconds_ += solve_one_(b_.data(), x_.data());
      for (std::size_t i = 0; i < b_.size(); i++) x[i64(i) * columns + k] = taken(x_[i]);
    }
  }
  double modelled_seconds() const override { return seconds_; }
  i64 bytes() const override { return 2 * i64(b_.size() * sizeof(V)); }

 private:
  std::vector<V> b_, x_;
  SolveOne solve_one_;  // (b, x) -> seconds of a described machine, or 0
  double seconds_ = 0;
};
template <class V, class SolveOne>
std::unique_ptr<TriangularRunner<V>> paper_runner(i64 n, SolveOne solve_one) {
  return std::make_unique<PaperRunner<V, SolveOne>>(n, std::move(solve_one));
}

/// Ranks are GPUs, or other devices, of a described machine.
template <class V, class F>
class ModelRunner final : public TriangularRunner<V> {
 public:
  ModelRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options)
      : factor_(factor), plan_(plan), machine_(options.machine), seed_(options.seed) {
    validate(machine_);
  }
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    const i64 value_bytes = std::is_same_v<F, trsv::Factor<V>> ? i64(sizeof(V)) : 0;
    const trsv::ModelOptions how = trsv::model_options(machine_, plan_.direction, columns, seed_, value_bytes);
    seconds_ = trsv::model_solve(factor_, plan_, how, b, x, columns, conjugate).seconds;
  }
  double modelled_seconds() const override { return seconds_; }
  i64 bytes() const override { return 0; }  // each solve makes its ranks' memory anew

 private:
  const F& factor_;
  const trsv::Plan& plan_;
  Machine machine_;
  u64 seed_;
  double seconds_ = 0;
};

template <class V>
std::unique_ptr<TriangularRunner<V>> on_host(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                             const TriangularOptions& options) {
  const trsv::Blocks& blocks = factor.blocks();
  if (options.engine == "processes")
    return std::make_unique<ProcessRunner<V>>(factor, plan, options, blocks.n,
                                              blocks.n + std::max(blocks.slots, blocks.partials));
  return std::make_unique<HostRunner<V, trsv::HostSolve<V>>>(factor, plan, options, 2 * blocks.n + blocks.slots);
}
template <class V>
std::unique_ptr<TriangularRunner<V>> on_host(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                             const TriangularOptions& options) {
  const i64 n = factor.rows(plan.direction).n;
  if (options.engine == "processes") return std::make_unique<ProcessRunner<V>>(factor, plan, options, n, n);
  return std::make_unique<HostRunner<V, trsv::LevelHostSolve<V>>>(factor, plan, options, n);
}

template <class V, class F>
std::unique_ptr<TriangularRunner<V>> runner_of(const F& factor, const trsv::Plan& plan, const TriangularOptions& options) {
#if SORDINO_WITH_CUDA
  if (options.engine == "cuda") return cuda::make_triangular_runner(factor, plan, options);
#endif
  if (options.engine == "model") return std::make_unique<ModelRunner<V, F>>(factor, plan, options);
  return on_host(factor, plan, options);
}

/// Throws bad_argument for an engine that has no triangular solve, or not by the algorithm that is asked for.
void require_engine(const TriangularOptions& options) {
  const std::string& engine = options.engine;
  if (engine != "host" && engine != "processes" && engine != "cuda" && engine != "model")
    bad_argument("triangular systems are solved by engine host, processes, cuda or model, not by '" + engine + "'");
  if (engine == "cuda" && !SORDINO_WITH_CUDA)
    throw Error(Errc::unsupported, "this build of Sordino has no CUDA: engine cuda is not there");
  if (engine == "processes" && options.algorithm == "paper")
    throw Error(Errc::unsupported, "engine processes has no algorithm 'paper': take engine host, cuda or model");
}

}  // namespace

template <class V>
bool TriangularRunner<V>::solve_there(const V*, V*, i64, bool, const trsv::InStream&) {
  throw Error(Errc::unsupported, "vectors on GPUs are solved for there by engine cuda, and by our own algorithm");
}

const TriangularOptions& checked(const TriangularOptions& options) {
  require_engine(options);
  if (options.algorithm != "ours" && options.algorithm != "paper")
    bad_argument("the algorithm of triangular solves is ours or paper, not '" + options.algorithm + "'");
  if ((options.layout_rows != 0 || options.layout_columns != 0) &&
      (options.layout_rows < 1 || options.layout_columns < 1 || options.algorithm != "paper" ||
       i64(options.layout_rows) * options.layout_columns > trsv::most_ranks))
    bad_argument("a layout is of algorithm paper, P x Q with at most " + std::to_string(trsv::most_ranks) + " ranks");
  if (options.ranks < 0 || options.ranks > trsv::most_ranks)
    bad_argument("a triangular solve has 1 to " + std::to_string(trsv::most_ranks) + " ranks, and " +
                 std::to_string(options.ranks) + " were asked for");
  constexpr int most_blocks = 65536;
  if (options.blocks < 0 || options.blocks > most_blocks)
    bad_argument("blocks are 0 to " + std::to_string(most_blocks) + ", not " + std::to_string(options.blocks));
  if (options.blocks > 0 && (options.engine != "cuda" || options.algorithm != "ours"))
    bad_argument("blocks are thread blocks of engine cuda and algorithm ours, and this is engine " + options.engine +
                 " and algorithm " + options.algorithm + ": leave blocks out");
  if (options.threads < 0) bad_argument("threads is at least 0, not " + std::to_string(options.threads));
  return options;
}

int ranks_there(const TriangularOptions& options) {
#if SORDINO_WITH_CUDA
  if (options.engine == "cuda") return cuda::triangular_gpus(options);
#endif
  if (options.engine != "model") return 1;
  constexpr int of_one_node = 8;  // that has no end
  return options.machine.ranks_per_node > 0 ? options.machine.ranks_per_node : of_one_node;
}

trsv::PlanOptions plan_options(const TriangularOptions& options) {
  if (options.engine == "processes") return {.ranks = options.ranks, .workers = 1};
  if (options.engine != "host") return {.ranks = options.ranks};
  const int ranks = std::max(options.ranks, 1), threads = std::max(ranks, thread_count(options.threads));
  return {.ranks = ranks, .workers = threads / ranks};
}

template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                                 const TriangularOptions& options) {
  return runner_of<V>(factor, plan, options);
}
template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                                 const TriangularOptions& options) {
  return runner_of<V>(factor, plan, options);
}

template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(PaperTriangle<V>& triangle, trsv::Direction direction,
                                                 const TriangularOptions& options) {
  const trsv::paper::Factor<V>& factor = triangle.of(direction);
  const trsv::paper::Layout& layout = triangle.layout(direction);
  const i64 n = factor.pattern().n();
#if SORDINO_WITH_CUDA
  if (options.engine == "cuda") return cuda::make_triangular_runner(factor, layout, options);
#endif
  if (options.engine == "model") {
    validate(options.machine);
    // Without a seed a solve takes what its steps do on GPUs; with one, what adversarial delays make of it.
    const double steps =
        options.seed == 0 ? trsv::paper::predict_steps(factor.pattern(), layout, options.machine, sizeof(V)).seconds : 0;
    return paper_runner<V>(n, [&factor, &layout, machine = options.machine, seed = options.seed, steps](const V* b, V* x) {
      const double clocked = trsv::paper::clock_solve<V>(factor, layout, machine, {.seed = seed}, b, x).seconds;
      return seed == 0 ? steps : clocked;
    });
  }
  const int workers = std::max(1, thread_count(options.threads) / layout.grid.ranks());
  auto solver = std::make_unique<trsv::paper::HostSolve<V>>(
      factor, layout, trsv::paper::HostOptions{.workers = workers, .timeout = options.timeout});
  return paper_runner<V>(n, [solver = std::move(solver)](const V* b, V* x) {
    solver->solve(b, x);
    return 0.0;
  });
}

#define SORDINO_RUNNERS(V)                                                                                  \
  template class TriangularRunner<V>;                                                                       \
  template std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::Factor<V>&, const trsv::Plan&,      \
                                                            const TriangularOptions&);                      \
  template std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::LevelFactor<V>&, const trsv::Plan&, \
                                                            const TriangularOptions&);                      \
  template std::unique_ptr<TriangularRunner<V>> make_runner(PaperTriangle<V>&, trsv::Direction, const TriangularOptions&);
SORDINO_RUNNERS(float)
SORDINO_RUNNERS(double)
SORDINO_RUNNERS(trsv::Number)
#undef SORDINO_RUNNERS

}  // namespace sordino
