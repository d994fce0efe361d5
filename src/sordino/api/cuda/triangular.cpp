#include "sordino/api/cuda/triangular.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/options.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/captured.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/cuda/level_gpu_solve.hpp"
#include "sordino/trsv/cuda/paper_gpu_solve.hpp"
#include "sordino/trsv/cuda/passes.hpp"

namespace sordino::cuda {
namespace {

void require_gpus(int ranks, const TriangularOptions& options) {
  if (const int there = triangular_gpus(options); ranks > there)
    throw Error(Errc::unsupported, "a triangular solve on " + std::to_string(ranks) +
                                       " ranks needs as many GPUs, and here are " + std::to_string(there));
}

template <class V>
auto make_solve(const trsv::Factor<V>& factor, const trsv::Plan& plan, const trsv::GpuOptions& options) {
  const bool forward = plan.direction == trsv::Direction::forward;
  return std::make_unique<trsv::GpuSolve<V>>(factor, forward ? &plan : nullptr, forward ? nullptr : &plan, options);
}
template <class V>
auto make_solve(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan, const trsv::GpuOptions& options) {
  return std::make_unique<trsv::LevelGpuSolve<V>>(factor, plan, options);
}

/// `F`: Factor or LevelFactor.
template <class V, class F>
class GpuRunner final : public TriangularRunner<V> {
  using Solve = decltype(make_solve(std::declval<const F&>(), std::declval<const trsv::Plan&>(), trsv::GpuOptions{}));

 public:
  GpuRunner(const F& factor, const trsv::Plan& plan, const TriangularOptions& options)
      : factor_(factor),
        plan_(plan),
        devices_(parse_devices(options.devices)),
        blocks_(options.blocks),
        timeout_(options.timeout) {
    require_gpus(plan.ranks, options);
  }

  void solve(const V* b, V* x, i64 columns, bool conjugate) override { solve_there(b, x, columns, conjugate, {}); }
  bool solve_there(const V* b, V* x, i64 columns, bool conjugate, const trsv::InStream& in) override {
    try {
      cuda::refuse_captured(in.stream ? static_cast<cudaStream_t>(in.stream) : cudaStreamLegacy);
      prepare(columns);
      if constexpr (std::is_same_v<F, trsv::Factor<V>>)
        return solve_->solve(plan_.direction, b, x, columns, conjugate, in);
      else
        return solve_->solve(b, x, columns, conjugate, in);
    } catch (...) {
      forget_failed();
      throw;
    }
  }
  void settle() override {
    try {
      if (solve_) solve_->settle();
    } catch (...) {
      forget_failed();
      throw;
    }
  }
  void update() override {
    try {
      if (solve_) solve_->update(factor_);
    } catch (...) {
      forget();  // another one is made of the factor, with its values
      throw;
    }
  }
  i64 bytes() const override {
    i64 sum = 0;
    for (int r = 0; solve_ && r < plan_.ranks; r++) {
      const trsv::GpuMemory m = solve_->memory(r);
      sum += m.values + m.tables + m.vectors;
    }
    return sum;
  }

 private:
  void forget() {
    solve_.reset();
    columns_ = 0;
  }
  /// A team that has failed is not used again; what was refused has done nothing to it.
  void forget_failed() {
    if (solve_ && solve_->has_failed()) forget();
  }
  void prepare(i64 columns) {
    const int wanted = trsv::size_of_pass(columns, most_).room;
    if (wanted <= columns_) return;
    settle();  // what a solve has failed of is told
    forget();  // its memory first
    try {
      make(wanted);
    } catch (const Error& e) {
      if (e.code() != Errc::unsupported || wanted <= trsv::most_columns_of_pass) throw;
      most_ = trsv::most_columns_of_pass;  // wide passes want more memory than there is
      make(most_);
    }
  }
  void make(int columns) {
    solve_ = make_solve(factor_, plan_, {.devices = devices_, .most_columns = columns, .blocks = blocks_, .timeout = timeout_});
    columns_ = columns;
  }

  const F& factor_;
  const trsv::Plan& plan_;
  std::vector<int> devices_;
  int blocks_;
  double timeout_;
  // Only doubles have wide passes, by blocks.
  int most_ = std::is_same_v<F, trsv::Factor<double>> ? trsv::most_columns_of_wide_pass : trsv::most_columns_of_pass;
  int columns_ = 0;
  Solve solve_;
};

/// By paper 004's Algorithm 1. For L^H x = b it solves with the transposed triangle, and conjugates b and x.
template <class V>
class PaperGpuRunner final : public TriangularRunner<V> {
 public:
  PaperGpuRunner(const trsv::paper::Factor<V>& factor, const trsv::paper::Layout& layout, const TriangularOptions& options)
      : factor_(factor), layout_(layout), devices_(parse_devices(options.devices)), timeout_(options.timeout) {
    require_gpus(layout.grid.ranks(), options);
  }

  void solve(const V* b, V* x, i64 columns, bool conjugate) override {
    const i64 numbers = factor_.pattern().n() * columns;
    std::vector<V> turned;
    if (conjugate) turned = conjugated(b, numbers);
    try {
      if (!solve_)
        solve_ = std::make_unique<Solve>(factor_, layout_, trsv::paper::GpuOptions{.devices = devices_, .timeout = timeout_});
      solve_->solve(conjugate ? turned.data() : b, x, columns);
    } catch (...) {
      solve_.reset();  // a team that has failed is not used again
      throw;
    }
    if (conjugate) std::ranges::copy(conjugated(x, numbers), x);
  }
  void update() override {
    if (solve_) solve_->update(factor_);
  }
  i64 bytes() const override {
    i64 sum = 0;
    for (int r = 0; solve_ && r < layout_.grid.ranks(); r++) {
      const trsv::GpuMemory m = solve_->memory(r);
      sum += m.values + m.tables + m.vectors;
    }
    return sum;
  }

 private:
  using Solve = trsv::paper::GpuSolve<V>;

  static std::vector<V> conjugated(const V* numbers, i64 count) {
    std::vector<V> turned(numbers, numbers + count);
    for (V& v : turned) v = trsv::conjugate(v);
    return turned;
  }

  const trsv::paper::Factor<V>& factor_;
  const trsv::paper::Layout& layout_;
  std::vector<int> devices_;
  double timeout_;
  std::unique_ptr<Solve> solve_;
};

}  // namespace

int triangular_gpus(const TriangularOptions& options) {
  if (!usable()) throw Error(Errc::unsupported, "engine cuda needs a GPU: " + report().reason);
  const std::vector<int> named = parse_devices(options.devices);
  require_devices(named);
  return named.empty() ? device_count() : int(named.size());
}

template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                                            const TriangularOptions& options) {
  return std::make_unique<GpuRunner<V, trsv::Factor<V>>>(factor, plan, options);
}
template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                                            const TriangularOptions& options) {
  return std::make_unique<GpuRunner<V, trsv::LevelFactor<V>>>(factor, plan, options);
}

template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::paper::Factor<V>& factor,
                                                            const trsv::paper::Layout& layout,
                                                            const TriangularOptions& options) {
  return std::make_unique<PaperGpuRunner<V>>(factor, layout, options);
}

#define SORDINO_RUNNERS(V)                                                                                             \
  template std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::Factor<V>&, const trsv::Plan&,      \
                                                                       const TriangularOptions&);                      \
  template std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::LevelFactor<V>&, const trsv::Plan&, \
                                                                       const TriangularOptions&);                      \
  template std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::paper::Factor<V>&,                  \
                                                                       const trsv::paper::Layout&, const TriangularOptions&);
SORDINO_RUNNERS(float)
SORDINO_RUNNERS(double)
SORDINO_RUNNERS(trsv::Number)
#undef SORDINO_RUNNERS

}  // namespace sordino::cuda
