#include "sordino/api/triangular_runner.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/config.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/level_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/triangular.hpp"
#endif

namespace sordino {
namespace {

/// `numbers`: that a solve keeps for each right-hand side.
template <class V, class Solve>
class HostRunner final : public TriangularRunner<V> {
 public:
  template <class F>
  HostRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options, i64 numbers)
      : numbers_(numbers), solve_(factor, plan, {.threads = options.threads, .timeout = options.timeout}) {}
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    most_columns_ = std::max(most_columns_, columns);
    solve_.solve(b, x, columns, conjugate);
  }
  i64 bytes() const override { return i64(sizeof(V)) * most_columns_ * numbers_; }

 private:
  i64 numbers_;
  Solve solve_;
  i64 most_columns_ = 0;
};

/// A worker is a thread block of a GPU, or as little of another device.
template <class V, class F>
class ModelRunner final : public TriangularRunner<V> {
 public:
  ModelRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options)
      : factor_(factor), plan_(plan), machine_(options.machine) {
    validate(machine_);
    model_.seed = options.seed;
    model_.lone_bandwidth = 4 * machine_.memory_bandwidth / model_.workers;
  }
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    seconds_ = trsv::model_solve(factor_, plan_, machine_, model_, b, x, columns, conjugate).seconds;
  }
  double modelled_seconds() const override { return seconds_; }
  i64 bytes() const override { return 0; }  // each solve makes its ranks' memory anew

 private:
  const F& factor_;
  const trsv::Plan& plan_;
  Machine machine_;
  trsv::ModelOptions model_;
  double seconds_ = 0;
};

template <class V>
std::unique_ptr<TriangularRunner<V>> on_host(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                             const TriangularOptions& options) {
  return std::make_unique<HostRunner<V, trsv::HostSolve<V>>>(factor, plan, options,
                                                             2 * factor.blocks().n + factor.blocks().slots);
}
template <class V>
std::unique_ptr<TriangularRunner<V>> on_host(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                             const TriangularOptions& options) {
  return std::make_unique<HostRunner<V, trsv::LevelHostSolve<V>>>(factor, plan, options, factor.rows(plan.direction).n);
}

template <class V, class F>
std::unique_ptr<TriangularRunner<V>> runner_of(const F& factor, const trsv::Plan& plan, const TriangularOptions& options) {
#if SORDINO_WITH_CUDA
  if (options.engine == "cuda") return cuda::make_triangular_runner(factor, plan, options);
#endif
  if (options.engine == "model") return std::make_unique<ModelRunner<V, F>>(factor, plan, options);
  return on_host(factor, plan, options);
}

}  // namespace

void require_triangular_engine(const std::string& engine) {
  if (engine != "host" && engine != "cuda" && engine != "model")
    bad_argument("triangular systems are solved by engine host, cuda or model, not by '" + engine + "'");
  if (engine == "cuda" && !SORDINO_WITH_CUDA)
    throw Error(Errc::unsupported, "this build of Sordino has no CUDA: engine cuda is not there");
}

trsv::PlanOptions plan_options(const TriangularOptions& options) {
  if (options.engine != "host") return {.ranks = options.ranks};
  const int threads = std::max(options.ranks, thread_count(options.threads));
  return {.ranks = options.ranks, .workers = threads / options.ranks};
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

#define SORDINO_RUNNERS(V)                                                                                  \
  template std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::Factor<V>&, const trsv::Plan&,      \
                                                            const TriangularOptions&);                      \
  template std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::LevelFactor<V>&, const trsv::Plan&, \
                                                            const TriangularOptions&);
SORDINO_RUNNERS(float)
SORDINO_RUNNERS(double)
SORDINO_RUNNERS(trsv::Number)
#undef SORDINO_RUNNERS

}  // namespace sordino
