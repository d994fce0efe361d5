// One injected fault in a solve on the host engine, for `sordino bench faults`.
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
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi.hpp"
#endif

namespace sordino::python {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

enum class Kind { dropped, late, throws, killed, memory };

Kind kind_named(const std::string& word) {
  constexpr const char* names[] = {"dropped", "late", "throws", "killed", "memory"};
  for (int k = 0; k < 5; k++)
    if (word == names[k]) return Kind(k);
  bad_argument("there is no fault '" + word + "'; there are dropped, late, throws, killed, memory");
}

/// Counts the phases of one rank (of `dropped`: its sends), and in one of them does what goes wrong.
class Injector {
 public:
  Injector(Kind kind, int culprit, double timeout, std::string last_word)
      : kind_(kind), culprit_(culprit), timeout_(timeout), last_word_(std::move(last_word)) {}

  void into(host::HostEngine& engine) {
    if (kind_ == Kind::dropped)
      engine.loses = [this](Rank& s, const Command& c, Op, int i) { return s.id() == culprit_ && is_due(c, i); };
    else
      engine.probe = [this](Rank& s, const Command& c, Op, int i) {
        if (s.id() == culprit_ && is_due(c, i)) act();
      };
  }
  long phases() const { return seen_; }
  void arm(long phase) {
    seen_ = 0;
    due_ = phase;
  }
  std::optional<Clock::time_point> at;  // of the fault
  std::string command;
  int iteration = -1;

 private:
  // The loop's own end sends for nobody: what it drops, nobody misses.
  bool is_due(const Command& c, int i) {
    if (c.name == "Drain" || seen_++ != due_) return false;
    at = Clock::now();
    command = c.name;
    iteration = i;
    return true;
  }
  void act() const {
    if (kind_ == Kind::late) std::this_thread::sleep_for(std::chrono::duration<double>(timeout_ + 0.3));
    if (kind_ == Kind::throws) throw Error(Errc::device, "an injected failure");
    if (kind_ == Kind::memory) throw std::bad_alloc();
    if (kind_ == Kind::killed) {
      if (!last_word_.empty()) std::ofstream(last_word_) << std::setprecision(17) << seconds(*at) << '\n';
      std::raise(SIGKILL);
    }
  }
  Kind kind_;
  int culprit_;
  double timeout_;
  std::string last_word_;  // the file in which who is killed says when
  long seen_ = 0, due_ = -1;
};

struct Trial {
  std::unique_ptr<Injector> injector;
  std::unique_ptr<Solver> solver;
  std::string cause, code, status;
  double begin = 0, end = 0;  // of the solve on all ranks here: seconds on the clock of the machine
};

Trial fault_trial(Kind kind, int culprit, double when, const std::string& method, int ranks, double timeout, bool thread,
                  const std::string& last_word) {
  host::Options h{.ranks = ranks, .timeout = timeout, .progress_thread = thread};
  std::unique_ptr<Transport> transport;
#if SORDINO_WITH_MPI
  transport = mpi::transport(ranks);
#endif
  auto engine = std::make_unique<host::HostEngine>(h, std::move(transport));
  Trial t;
  t.injector = std::make_unique<Injector>(kind, culprit, timeout, last_word);
  t.injector->into(*engine);
  CsrMatrix A = poisson(7, 6, 5, 7, 10.0);
  Options o;
  o.solver = method;
  o.rtol = 1e-9;
  t.solver = std::make_unique<Solver>(A.view(), o, EngineChoice{std::move(engine), "threads"});
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  t.begin = seconds(Clock::now());
  try {  // a fast process may fail in its second solve while this one still ends its first
    t.solver->solve(b.data(), x.data(), nullptr, {});
    t.injector->arm(long(when * double(t.injector->phases())));
    t.begin = seconds(Clock::now());
    t.status = name(t.solver->solve(b.data(), x.data(), nullptr, {}).status);
  } catch (const Error& e) {
    t.cause = e.what();
    t.code = name(e.code());
  }
  t.end = seconds(Clock::now());
  return t;
}

nb::dict trial_dict(const std::string& kind, int culprit, double when, const std::string& method, int ranks, double timeout,
                    bool thread, const std::string& last_word) {
  Trial t;
  {
    nb::gil_scoped_release release;
    t = fault_trial(kind_named(kind), culprit, when, method, ranks, timeout, thread, last_word);
  }
  nb::dict d;
  d["cause"] = t.cause;
  d["code"] = t.code;
  d["status"] = t.status;
  d["begin_s"] = t.begin;
  d["end_s"] = t.end;
  d["fault_s"] = t.injector->at ? nb::cast(seconds(*t.injector->at)) : nb::none();
  d["command"] = t.injector->command;
  d["iteration"] = t.injector->iteration;
  return d;
}

}  // namespace

void define_faults(nb::module_& m) {
  using namespace nb::literals;
  m.def("fault_trial", &trial_dict, "kind"_a, "culprit"_a, "when"_a, "method"_a, "ranks"_a, "timeout"_a, "progress_thread"_a,
        "last_word"_a = "");
}

}  // namespace sordino::python
