#include "sordino/api/triangular_runner.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/config.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "sordino/trsv/model_solve.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/triangular.hpp"
#endif

namespace sordino {
namespace {

template <class V>
class HostRunner final : public TriangularRunner<V> {
 public:
  HostRunner(const trsv::Factor<V>& factor, const trsv::Plan& plan, const TriangularOptions& options)
      : blocks_(factor.blocks()), solve_(factor, plan, {.threads = options.threads, .timeout = options.timeout}) {}
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    most_columns_ = std::max(most_columns_, columns);
    solve_.solve(b, x, columns, conjugate);
  }
  i64 bytes() const override { return i64(sizeof(V)) * most_columns_ * (2 * blocks_.n + blocks_.slots); }

 private:
  const trsv::Blocks& blocks_;
  trsv::HostSolve<V> solve_;
  i64 most_columns_ = 0;
};

/// Ranks are GPUs, or other devices, of a described machine.
template <class V>
class ModelRunner final : public TriangularRunner<V> {
 public:
  ModelRunner(const trsv::Factor<V>& factor, const trsv::Plan& plan, const TriangularOptions& options)
      : factor_(factor), plan_(plan), machine_(options.machine), seed_(options.seed) {
    validate(machine_);
  }
  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    const trsv::ModelOptions how = trsv::model_options(machine_, plan_.direction, columns, seed_);
    seconds_ = trsv::model_solve(factor_, plan_, how, b, x, columns, conjugate).seconds;
  }
  double modelled_seconds() const override { return seconds_; }
  i64 bytes() const override { return 0; }  // each solve makes its ranks' memory anew

 private:
  const trsv::Factor<V>& factor_;
  const trsv::Plan& plan_;
  Machine machine_;
  u64 seed_;
  double seconds_ = 0;
};

}  // namespace

void require_triangular_engine(const std::string& engine) {
  if (engine != "host" && engine != "cuda" && engine != "model")
    bad_argument("triangular systems are solved by engine host, cuda or model, not by '" + engine + "'");
  if (engine == "cuda" && !SORDINO_WITH_CUDA)
    throw Error(Errc::unsupported, "this build of Sordino has no CUDA: engine cuda is not there");
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
  if (options.engine != "host") return {.ranks = options.ranks};
  const int threads = std::max(options.ranks, thread_count(options.threads));
  return {.ranks = options.ranks, .workers = threads / options.ranks};
}

template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                                 const TriangularOptions& options) {
#if SORDINO_WITH_CUDA
  if (options.engine == "cuda") return cuda::make_triangular_runner(factor, plan, options);
#endif
  if (options.engine == "model") return std::make_unique<ModelRunner<V>>(factor, plan, options);
  return std::make_unique<HostRunner<V>>(factor, plan, options);
}

template std::unique_ptr<TriangularRunner<float>> make_runner(const trsv::Factor<float>&, const trsv::Plan&,
                                                              const TriangularOptions&);
template std::unique_ptr<TriangularRunner<double>> make_runner(const trsv::Factor<double>&, const trsv::Plan&,
                                                               const TriangularOptions&);
template std::unique_ptr<TriangularRunner<trsv::Number>> make_runner(const trsv::Factor<trsv::Number>&, const trsv::Plan&,
                                                                     const TriangularOptions&);

}  // namespace sordino
