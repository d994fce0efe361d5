// A solver whose sums over ranks take longer, as through a slow network, for `sordino bench overlap`.
#include <nanobind/stl/pair.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "convert.hpp"
#include "of_process.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/config.hpp"
#include "sordino/runtime/host/engine.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#endif

namespace sordino::python {
namespace {

/// Holds up ranks where they finish a reduction, until so many seconds after they have started it: what they compute in
/// between hides as much of that. No message, and no processor, is held up.
class LateSums {
 public:
  explicit LateSums(int ranks) : due_(std::size_t(ranks)) {}

  void watch(host::HostEngine& engine) {
    engine.probe = [this](Rank& rank, const Command& c, Op op, int) {
      const double late = seconds.load(std::memory_order_relaxed);
      if (late == 0 || (op != Op::start && op != Op::finish)) return;
      auto& due = due_[std::size_t(rank.id())].of_slot;
      for (const Phase& p : c.phases) {  // a command finishes all that it needs before it computes
        if (p.op != op) continue;
        if (due.size() <= std::size_t(p.slot)) due.resize(std::size_t(p.slot) + 1);
        double& until = due[std::size_t(p.slot)];
        if (op == Op::start) until = seconds_now() + late;
        while (op == Op::finish && seconds_now() < until) {  // who yields comes back when others let it
        }
      }
    };
  }

  std::atomic<double> seconds{0};

 private:
  struct alignas(64) Due {
    std::vector<double> of_slot;  // when its sums may be there
  };
  std::vector<Due> due_;  // [ranks], each for its own thread
};

using Delay = std::function<void(double seconds)>;

struct Delayed {
  EngineChoice choice;
  Delay delay;
};

Delayed host_engine(const Options& o) {
  auto late = std::make_shared<LateSums>(o.ranks);
  auto engine = std::make_unique<host::HostEngine>(host::Options{.ranks = o.ranks, .timeout = o.timeout});
  late->watch(*engine);
  return {{std::move(engine), "threads"}, [late](double seconds) { late->seconds = seconds; }};
}

Delayed cuda_engine([[maybe_unused]] const Options& o) {
#if SORDINO_WITH_CUDA
  EngineChoice choice = cuda::make_engine(o, parse_devices(o.devices), nullptr, nullptr, true);
  auto& engine = dynamic_cast<cuda::CudaEngine&>(*choice.engine);
  return {std::move(choice), [&engine](double seconds) { engine.delay_sums(seconds); }};
#else
  throw Error(Errc::unsupported, "this build has no cuda engine: sums can be made late on engine host");
#endif
}

class DelayedSolver {
 public:
  DelayedSolver(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n, const nb::dict& options)
      : arrays_(indptr, indices, data) {
    Options o;
    update(o, options);
    if (o.ranks < 1) bad_argument("a solver with delays is told its ranks, 1 or more");
    const CsrView A{.n = n, .indptr = indptr.data(), .indices = indices.data(), .values = data.data()};
    nb::gil_scoped_release release;
    Delayed engine = o.engine == "cuda" ? cuda_engine(o) : host_engine(o);
    delay_ = engine.delay;
    solver_ = OfProcess<Solver>(new Solver(A, o, std::move(engine.choice)));
    x_.resize(std::size_t(n));
  }

  /// Iterations and seconds of a solve whose sums take so much longer.
  std::pair<int, double> solve(const Array<double>& b, int iterations, double late) {
    if (b.size() != x_.size()) bad_argument("the right-hand side is not as long as the matrix");
    if (!(late >= 0) || !std::isfinite(late)) bad_argument("a delay is a finite number of seconds, 0 or more");
    nb::gil_scoped_release release;
    delay_(late);
    solver_->options().maxiter = iterations;
    const Report report = solver_->solve(b.data(), x_.data());
    return {report.iterations, report.seconds};
  }

 private:
  std::tuple<Array<i64>, Array<i32>, Array<double>> arrays_;  // that the solver views
  Delay delay_;
  std::vector<double> x_;
  OfProcess<Solver> solver_;  // goes before what its engine asks
};

}  // namespace

void define_delays(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<DelayedSolver>(m, "DelayedSolver")
      .def(nb::init<Array<i64>, Array<i32>, Array<double>, i64, const nb::dict&>(), "indptr"_a, "indices"_a, "data"_a, "n"_a,
           "options"_a)
      .def("solve", &DelayedSolver::solve, "b"_a, "iterations"_a, "late"_a);
}

}  // namespace sordino::python
