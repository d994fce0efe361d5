#include "sordino/api/solver.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include "sordino/api/factorizing.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/api/singular.hpp"
#include "sordino/api/solver_state.hpp"
#include "sordino/api/whole_vectors.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/range.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int solution_channel = 2, method_channel = 7;

/// With levels of a grid's fields where precond=auto prefers them, unless they are refused. Says why; empty: nobody chose.
std::string set_up_preferred(const System& system, const Options& options, const std::function<void(const Options&)>& set_up) {
  if (!prefers_levels(system, options)) return set_up(options), "";
  try {
    set_up(with_levels(options));
    return "GPUs make levels of the grid's fields sooner than the CPU makes rows for jacobi";
  } catch (const Error& error) {
    if (error.code() != Errc::bad_argument) throw;
    set_up(options);
    return error.what();
  }
}

}  // namespace

Solver::Solver(const System& system, const Options& options, const std::optional<Machine>& machine) {
  SharedCores all;
  double begin = seconds_now();
  const auto set_up = [&](const Options& asked) {
    state_.reset(new State(system, asked));
    state_->machine = machine;
    state_->another_engine = [&s = *state_] {
      Range range("start the engine");
      return make_engine(s.options, s.machine.value_or(Machine{}), s.A.n / number_of_processes());
    };
    state_->set_up(state_->another_engine());
  };
  if (const std::string why = set_up_preferred(system, options, set_up); !why.empty()) state_->chosen.why_preconditioner = why;
  state_->setup_seconds = seconds_now() - begin;
}

Solver::Solver(const CsrView& A, const Options& options, const std::optional<Machine>& machine)
    : Solver(System{.A = A}, options, machine) {}

Solver::Solver(const CsrView& A, const Options& options, EngineChoice engine) {
  SharedCores all;
  double begin = seconds_now();
  state_.reset(new State({.A = A}, options));
  state_->set_up(std::move(engine));
  state_->setup_seconds = seconds_now() - begin;
}

void Solver::Release::operator()(State* state) const {
  if (!state->choice.engine || !state->engine().has_lost_a_rank()) delete state;
}

Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;

Solver::State::State(const System& wanted, const Options& asked)
    : system(wanted),
      fields(wanted.grid),
      setup_reason(how_fields_are_taken(system, with_grid(wanted, asked))),
      of_grid(rows_unless_by_fields(system, with_grid(wanted, asked))),
      rows(A),
      options(with_grid(wanted, asked)),
      chosen(choose(system, options)) {
  system.nullspace = checked_nullspace(system, options);
  bool in_order = options.all_reduce == "auto" || options.all_reduce == "fastest" || options.all_reduce == "ordered";
  bool steady = chosen.method->needs_spd && !(A.is_complex() && chosen.method->complex == Factors::of_numbers);
  if (options.deterministic == "auto") options.deterministic = steady || !in_order ? "off" : "on";
  if (system.watch.look)
    system.watch.look = [this, look_of_user = wanted.watch.look](int iteration, double residual, const double* x) {
      look_of_user(iteration, residual, x && exponent != 0 ? scaled_back(x) : x);
    };
}

const double* Solver::State::scaled_back(const double* x) {
  seen_x = scaled_on_host(x, system.words(), -exponent);
  return seen_x.data();
}

void Solver::State::set_up(EngineChoice made) {
  Range range("sordino: set up");
  chosen.storage = storage_of(system, options, chosen, made.engine->size());
  settle_grid(chosen, system, options, made.engine->size(), made.engine->is_device(), machine, gpus_of(*made.engine));
  settle_method(chosen, system, options, made.engine->size(), machine);
  parts.clear();
  choice = std::move(made);
  engine().trace().on = options.trace;
  require_one_method();
  chosen.group = group_of(options.gather, engine());
  Partition partition = partition_of(system, chosen, engine());
  parts.resize(std::size_t(engine().local_ranks()));
  if (!scaled) scaled = scaled_matrix(system, chosen);
  engine().run([&](Rank& rank) {
    SharedCores share(engine().local_ranks());
    parts[std::size_t(rank.id() - engine().first_rank())] = build_part(rank, system, chosen, options, partition, scaled.get());
  });
  if (chosen.levels) chosen.levels->release();
  require_pivots(parts.front().refused_row, chosen);
  is_set_up = true;
}

/// Processes choose by themselves, each by the machine that it was told of.
void Solver::State::require_one_method() {
  if ((options.solver != "auto" && options.s) || engine().size() == engine().local_ranks()) return;
  const i64 mine = &sordino::method(chosen.method->name) - methods().data(), at_once = chosen.steps;
  bool same = true;
  engine().run([&](Rank& rank) {
    auto least = Communicator(rank, method_channel).all_reduce(std::vector<i64>{mine, -mine, at_once, -at_once}, Fold::min);
    if (rank.id() == engine().first_rank()) same = least[0] == -least[1] && least[2] == -least[3];
  });
  if (!same)
    bad_argument(
        "processes chose different solvers, or s, by machines that are described differently: describe the same one to all, or "
        "say which");
}

void Solver::State::require_set_up() const {
  if (!is_set_up) throw Error(Errc::unsupported, "the last values of the matrix could not be stored: update them again");
}

SolveControl Solver::State::control() {
  SolveControl c;
  c.rtol = options.rtol;
  c.atol = options.atol;
  c.max_iterations = options.maxiter > 0 ? options.maxiter : int(std::clamp<i64>(10 * A.n, 1000, 100000));
  c.stop_reason = [this] { return Status(stop_reason.load()); };
  return c;
}

void Solver::State::solve_part(Rank& rank, const double* b, const double* x0, double* x, SolveOutcome& first) {
  Part& p = parts[std::size_t(rank.id() - engine().first_rank())];
  i64 row = p.driver->space().first_row;
  SolveOutcome o = p.driver->solve(b + row, x0 ? x0 + row : nullptr, control());
  bool whole = p.driver->space().replicated;
  if (!whole || rank.id() == engine().first_rank()) p.driver->read_solution(x + row);
  if (!whole) collect(rank, x);
  if (rank.id() == engine().first_rank()) first = std::move(o);
}

// Rows of other processes travel to the process of rank 0.
void Solver::State::collect(Rank& rank, double* x) {
  if (engine().size() == engine().local_ranks()) return;
  Communicator comm(rank, solution_channel);
  if (engine().first_rank() > 0) {
    const Space& space = parts[std::size_t(rank.id() - engine().first_rank())].driver->space();
    comm.send(0, std::vector<double>(x + space.first_row, x + space.first_row + space.rows));
  } else if (rank.id() == 0) {
    double* to = x;
    for (int r = 0; r < engine().local_ranks(); r++) to += parts[std::size_t(r)].driver->space().rows;
    for (int r = engine().local_ranks(); r < engine().size(); r++) {
      auto rows = comm.receive<double>(r);
      to = std::copy(rows.begin(), rows.end(), to);
    }
  }
}

Report Solver::solve(const double* b, double* x, const double* x0, const ProgressCallback& progress) {
  Range range("sordino: solve");
  State& s = *state_;
  sordino::validate(s.options);
  s.require_set_up();
  const i64 n = s.system.words();
  bool on_gpus = s.callers.settle(b, x, x0);
  Magnitude of_b = s.callers.measure(b, n, 0, "the right-hand side", s.A.words);
  if (x0) s.callers.measure(x0, n, 0, "x0", s.A.words);
  bool in_range = Magnitude::in_range(of_b.largest);
  bool ranks_reach = !on_gpus || (s.engine().is_device() && s.engine().size() == s.engine().local_ranks());
  if (in_range && ranks_reach) return solve_in_range(b, std::sqrt(of_b.squares), x, x0, progress);
  return solve_on_host(b, x, x0, in_range ? 0 : -std::ilogb(of_b.largest), progress);
}

// On copies, scaled by 2^exponent, which is exact, so that (b,b) neither overflows nor vanishes.
Report Solver::solve_on_host(const double* b, double* x, const double* x0, int exponent, const ProgressCallback& progress) {
  State& s = *state_;
  struct Restore {
    State& s;
    double atol;
    ~Restore() { s.options.atol = atol, s.exponent = 0; }
  } restore{s, s.options.atol};
  s.exponent = exponent;
  s.options.atol = std::ldexp(s.options.atol, exponent);
  const i64 n = s.system.words();
  auto b_here = scaled_on_host(b, n, exponent), x_here = std::vector<double>(b_here.size());
  auto x0_here = x0 ? scaled_on_host(x0, n, exponent) : std::vector<double>{};
  double b_norm = std::sqrt(s.callers.measure(b_here.data(), n, 0, "the right-hand side", s.A.words).squares);
  Report r = solve_in_range(b_here.data(), b_norm, x_here.data(), x0 ? x0_here.data() : nullptr, progress);
  scale_back(x_here, exponent, x);
  r.residual_norm = std::ldexp(r.residual_norm, -exponent);
  r.outside_norm = std::ldexp(r.outside_norm, -exponent);
  return r;
}

/// A solve by all ranks, which ends when the time is up, or look() says so about 10 times a second. Seconds by the engine's
/// clock.
double Solver::State::run(const std::function<void(Rank&)>& job, const LookAt& look) {
  stop_reason = int(Status::interrupted);  // until somebody stops it for another
  engine().clear_stop();
  double begin = seconds_now(), last_call = begin;
  std::exception_ptr callback_failed;
  bool calls = bool(look);  // not again once it has said that the solve is to end
  auto supervise = [&] {
    double now = seconds_now();
    if (options.time_limit > 0 && now - begin > options.time_limit) stop(Status::time_limit);
    if (!calls || now - last_call < 0.1) return;
    last_call = now;
    try {
      double rr = engine().progress().value.load();
      calls = !look(engine().progress().iteration.load(), rr);
    } catch (...) {  // the ranks end as if asked to, and can solve again
      callback_failed = std::current_exception();
      calls = false;
    }
    if (!calls) stop(Status::stopped_by_user);
  };
  double from = engine().now(engine().rank(0));
  engine().reset_progress();
  engine().run(job, supervise);
  if (callback_failed) std::rethrow_exception(callback_failed);
  return engine().now(engine().rank(0)) - from;
}

Report Solver::solve_in_range(const double* b, double b_norm, double* x, const double* x0, const ProgressCallback& progress) {
  State& s = *state_;
  State::LookAt look;
  if (progress) {
    b_norm = reachable_norm(b, s.system.words(), b_norm, s.system.nullspace.of_transpose());
    look = [&](int iteration, double rr) {
      double norm = std::sqrt(rr) * s.parts[0].driver->norm_ratio();
      return progress(iteration, b_norm > 0 ? norm / b_norm : 0);
    };
  }
  Ledger before = s.engine().rank(0).ledger;
  SolveOutcome outcome;
  Report report;
  report.seconds = s.run([&](Rank& rank) { s.solve_part(rank, b, x0, x, outcome); }, look);
  s.fill(report, outcome, before);
  report.ledger.time = report.seconds;
  return report;
}

void Solver::State::fill(Report& r, SolveOutcome& o, const Ledger& before) {
  r.status = o.status;
  r.reason = std::move(o.reason);
  r.iterations = o.iterations;
  r.residual_norm = o.residual_norm;
  r.true_residual = o.b_norm > 0 ? o.residual_norm / o.b_norm : 0;
  r.outside_norm = o.outside_norm;
  r.history = std::move(o.history);
  r.recoveries = std::move(o.recoveries);
  r.ledger = difference(engine().rank(0).ledger, before);
  if (options.trace) r.trace = engine().trace().take();
}

void Solver::set_stream(void* stream) { state_->callers.set_stream(stream); }

void Solver::stop(Status reason) { state_->stop(reason); }
void Solver::State::stop(Status reason) {
  stop_reason = int(reason);
  engine().request_stop();
}

Options& Solver::options() { return state_->options; }
int Solver::ranks() const { return state_->engine().size(); }
int Solver::first_rank() const { return state_->engine().first_rank(); }
double Solver::setup_seconds() const { return state_->setup_seconds; }
const std::string& Solver::method() const { return state_->chosen.method->name; }
const std::string& Solver::why_method() const { return state_->chosen.why_method; }
const std::string& Solver::why_steps() const { return state_->chosen.why_steps; }
int Solver::steps() const { return state_->parts[0].driver->steps(); }
const std::string& Solver::storage() const { return state_->chosen.storage.name; }
const std::string& Solver::why_stored_so() const { return state_->chosen.storage.why; }
const std::string& Solver::symmetry() const { return state_->chosen.symmetry; }
const std::string& Solver::preconditioner() const { return state_->chosen.preconditioner; }
const std::string& Solver::why_preconditioner() const { return state_->chosen.why_preconditioner; }
const std::string& Solver::setup_reason() const { return state_->setup_reason; }
std::string Solver::engine() const { return state_->engine().name(); }
std::string Solver::transport() const { return state_->choice.transport; }

}  // namespace sordino
