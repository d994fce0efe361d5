// One injected fault in a solve on the host or the cuda engine, for `sordino bench faults`.
#include <csignal>
#include <fstream>
#include <iomanip>
#include <new>
#include <optional>
#include <thread>

#include "convert.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/solvers/registry.hpp"
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi.hpp"
#endif
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#endif

namespace sordino::python {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

enum class Kind { dropped, late, throws, killed, memory, device };

Kind kind_named(const std::string& word) {
  constexpr const char* names[] = {"dropped", "late", "throws", "killed", "memory", "device"};
  for (int k = 0; k < 6; k++)
    if (word == names[k]) return Kind(k);
  bad_argument("there is no fault '" + word + "'; there are dropped, late, throws, killed, memory, device");
}

/// What goes wrong in a trial, and where.
struct Plan {
  Kind kind;
  int culprit;  // rank
  double when;  // from 0, the first phase of the culprit in a solve, to 1, the last; of `dropped`: of its sends
  std::string method;
  int ranks;  // of this process
  double timeout;
  bool progress_thread;
  std::string engine, devices, last_word;

  bool on_gpus() const { return engine == "cuda"; }
};

/// Notes the phases of one rank (of `dropped`: its sends) while a solve goes well, and in one of them does what goes wrong.
class Injector {
 public:
  explicit Injector(const Plan& plan) : plan_(plan) {}

  void watch(host::HostEngine& engine) {
    auto is_its = [this](Rank& s) { return s.id() == plan_.culprit; };
    if (plan_.kind == Kind::dropped)
      engine.loses = [=, this](Rank& s, const Command& c, Op, int i) { return is_its(s) && is_due(c, i); };
    else
      engine.probe = [=, this](Rank& s, const Command& c, Op, int i) {
        if (is_its(s) && is_due(c, i)) act(s);
      };
  }
  /// The next solve fails.
  void arm() {
    due_ = long(plan_.when * double(phases_.size()));
    seen_ = 0;
  }
#if SORDINO_WITH_CUDA
  /// The fault that is due, on the cuda engine. Its host threads issue chunks of iterations: what goes wrong there does so
  /// before the chunk in which it is due.
  cuda::Injection on_gpu() {
    cuda::Injection i;
    if (phases_.empty()) return i;               // another process's rank it is that fails
    phase = phases_[std::size_t(due_ * 3 / 4)];  // which adds in another order, and may need fewer iterations than the host
    i.rank = plan_.culprit;
    i.command = phase.command;
    i.iteration = phase.iteration;
    i.mute = plan_.kind == Kind::dropped;
    i.delay = plan_.kind == Kind::late ? lateness() : 0;
    i.trap = plan_.kind == Kind::device;
    if (!i.mute && !i.trap && i.delay == 0)
      i.before = [this](Rank& s, int, int last) {
        if (at || last <= phase.iteration) return;
        at = Clock::now();
        act(s);
      };
    return i;
  }
#endif
  std::optional<Clock::time_point> at;  // of the fault, if it can be known
  struct Phase {
    std::string command;
    int iteration = -1;
  } phase;  // of the fault

 private:
  double lateness() const { return plan_.timeout + 0.3; }

  // The loop's own end sends for nobody: what it drops, nobody misses.
  bool is_due(const Command& c, int i) {
    if (c.name == "Drain") return false;
    if (due_ < 0) phases_.push_back({c.name, i});
    if (due_ < 0 || seen_++ != due_) return false;
    at = Clock::now();
    phase = {c.name, i};
    return true;
  }
  void act(Rank& s) const {
    constexpr std::size_t too_much = std::size_t(1) << 45;  // bytes
    if (plan_.kind == Kind::late) std::this_thread::sleep_for(std::chrono::duration<double>(lateness()));
    if (plan_.kind == Kind::throws) throw Error(Errc::device, "an injected failure");
    if (plan_.kind == Kind::memory && plan_.on_gpus()) s.engine().allocate_bytes(s, too_much);
    if (plan_.kind == Kind::memory) throw std::bad_alloc();
    if (plan_.kind == Kind::killed) {
      if (!plan_.last_word.empty()) std::ofstream(plan_.last_word) << std::setprecision(17) << seconds(*at) << '\n';
      std::raise(SIGKILL);
    }
  }
  Plan plan_;
  std::vector<Phase> phases_;  // of a solve that went well
  long seen_ = 0, due_ = -1;
};

EngineChoice host_engine(const Plan& plan, Injector& injector) {
  host::Options h{.ranks = plan.ranks, .timeout = plan.timeout, .progress_thread = plan.progress_thread};
  std::unique_ptr<Transport> transport;
#if SORDINO_WITH_MPI
  transport = mpi::transport(plan.ranks);
#endif
  std::string carries = transport ? "threads and mpi" : "threads";
  auto engine = std::make_unique<host::HostEngine>(h, std::move(transport));
  injector.watch(*engine);
  return {std::move(engine), carries};
}

#if SORDINO_WITH_CUDA
EngineChoice gpu_engine(const Plan& plan, double timeout, cuda::Injection injection) {
  cuda::enable_kernels();
  cuda::Options o;
  o.ranks = plan.ranks;
  o.devices = parse_devices(plan.devices);
  o.timeout = timeout;
  o.chunk = 4;
  o.deterministic = !method(plan.method).needs_spd;  // as by default
  o.inject = std::move(injection);
  std::unique_ptr<Hall> hall;
#if SORDINO_WITH_MPI
  hall = mpi::hall(plan.ranks);
#endif
  auto engine = std::make_unique<cuda::CudaEngine>(o, std::move(hall));
  std::string carries = cuda::carrier(*engine);
  return {std::move(engine), carries};
}
#endif

class Trial {
 public:
  // Of a size that GPUs keep as the host does, row by row: then they run the commands that the host has rehearsed.
  explicit Trial(const Plan& plan) : injector(plan), plan_(plan), A_(poisson(8, 8, 16, 7, 10.0)) {}

  void run() {
    auto solver = plan_.on_gpus() ? on_gpus() : on(host_engine(plan_, injector));
    begin = seconds(Clock::now());
    try {  // a fast process may fail in its second solve while this one still ends its first
      if (!plan_.on_gpus()) {
        solve(*solver);
        injector.arm();
        begin = seconds(Clock::now());
      }
      status = solve(*solver);
    } catch (const Error& e) {
      cause = e.what();
      known = e.cause();
      code = name(e.code());
    }
    end = seconds(Clock::now());
  }

  Injector injector;
  std::string cause, code, status, transport;
  Cause known;
  double begin = 0, end = 0;  // of the solve on all ranks here: seconds on the clock of the machine

 private:
  std::unique_ptr<Solver> on(EngineChoice engine) {
    Options o;
    o.solver = plan_.method;
    o.rtol = 1e-9;
    transport = engine.transport;
    return std::make_unique<Solver>(A_.view(), o, std::move(engine));
  }
  std::string solve(Solver& solver) {
    std::vector<double> b(std::size_t(A_.n), 1.0), x(b.size());
    return name(solver.solve(b.data(), x.data(), nullptr, {}).status);
  }

  // What is recorded does not depend on the engine: so a rehearsal on the host tells the phases of a solve. A solve on the GPUs
  // that goes well shows that they are there, whatever happened before, and loads all kernels.
  std::unique_ptr<Solver> on_gpus() {
#if SORDINO_WITH_CUDA
    constexpr double patience = 60;  // seconds: somebody may still be loading his kernels
    std::unique_ptr<Solver> well = on(gpu_engine(plan_, patience, {}));
    if (std::string how = solve(*well); how != "converged")
      throw Error(Errc::unsupported, "a solve without any fault ended as " + how);
    well.reset();
    well = on(host_engine(plan_, injector));
    solve(*well);
    well.reset();
    injector.arm();
    return on(gpu_engine(plan_, plan_.timeout, injector.on_gpu()));
#else
    throw Error(Errc::unsupported, "this build has no cuda engine");
#endif
  }

  Plan plan_;
  CsrMatrix A_;
};

nb::dict trial_dict(const std::string& kind, int culprit, double when, const std::string& method, int ranks, double timeout,
                    bool thread, const std::string& engine, const std::string& devices, const std::string& last_word) {
  Trial t({kind_named(kind), culprit, when, method, ranks, timeout, thread, engine, devices, last_word});
  if (kind == "device" && engine != "cuda") bad_argument("a device can fail on engine cuda only");
  {
    nb::gil_scoped_release release;
    t.run();
  }
  nb::dict d;
  d["cause"] = t.cause;
  d["said"] = cause_dict(t.known);
  d["code"] = t.code;
  d["status"] = t.status;
  d["transport"] = t.transport;
  d["begin_s"] = t.begin;
  d["end_s"] = t.end;
  d["fault_s"] = t.injector.at ? nb::cast(seconds(*t.injector.at)) : nb::none();
  d["command"] = t.injector.phase.command;
  d["iteration"] = t.injector.phase.iteration;
  return d;
}

}  // namespace

void define_faults(nb::module_& m) {
  using namespace nb::literals;
  m.def("fault_trial", &trial_dict, "kind"_a, "culprit"_a, "when"_a, "method"_a, "ranks"_a, "timeout"_a, "progress_thread"_a,
        "engine"_a = "host", "devices"_a = "", "last_word"_a = "");
}

}  // namespace sordino::python
