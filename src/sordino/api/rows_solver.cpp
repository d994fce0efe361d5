#include "sordino/api/rows_solver.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "sordino/api/callers.hpp"
#include "sordino/api/digest.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/factorizing.hpp"
#include "sordino/api/ghosts.hpp"
#include "sordino/api/inspect.hpp"
#include "sordino/api/method_choice.hpp"
#include "sordino/api/part.hpp"
#include "sordino/api/rows_levels.hpp"
#include "sordino/api/singular.hpp"
#include "sordino/api/symmetry.hpp"
#include "sordino/api/whole_vectors.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/range.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace sordino {
namespace {

constexpr int channel = 5;

}  // namespace

struct RowsSolver::State {
  Accord accord;
  System system;
  CsrView& A = system.A;  // this process's rows
  Callers callers;
  std::unique_ptr<RowsOnHost> rows;         // their arrays, if they were on a GPU
  std::vector<double> values, next_values;  // taken in turns, so that refused ones change nothing
  Options options;
  std::optional<Machine> machine;  // that solver=auto goes by
  Choice chosen;
  std::shared_ptr<const void> arrays;  // that A views
  EngineChoice choice;                 // destroyed before them
  std::vector<Part> parts;             // destroyed before the engine
  double setup_seconds = 0;
  std::atomic<int> stop_reason{int(Status::time_limit)};  // of this process
  std::function<void()> meanwhile;

  State(const CsrView& rows, const Options& asked, const std::optional<Machine>& described, Accord with,
        std::shared_ptr<const void> held)
      : accord(std::move(with)), system{.A = rows}, options(asked), machine(described), arrays(std::move(held)) {}
  Engine& engine() { return *choice.engine; }
  Part& part(Rank& rank) { return parts[std::size_t(rank.id() - engine().first_rank())]; }
  bool alone() const { return accord.count() == 1; }
  void agree_on(double mine, const char* otherwise);
  void agree_on_options();
  void join_rows();
  void choose();
  void choose_method();
  Load load();
  bool symmetric(const CsrView& rows);
  std::string advice(Status status);
  Partition partition();
  SolveControl control(Rank& rank) const;
  SolveOutcome run(const double* b, double* x, const double* x0);
  Report solve_in_range(const double* b, double* x, const double* x0);
  Report solve_on_host(const double* b, double* x, const double* x0, int exponent);
};

RowsSolver::RowsSolver(const CsrView& rows, const Options& options, Accord accord, std::shared_ptr<const void> arrays,
                       const std::optional<Machine>& machine, const Nullspace& nullspace) {
  Range range("sordino: set up");
  SharedCores all;
  double begin = seconds_now();
  state_.reset(new State(rows, options, machine, std::move(accord), std::move(arrays)));
  State& s = *state_;
  if (!s.alone() && s.options.ranks == 0) s.options.ranks = 1;
  s.accord.together([&] {
    validate(s.options);
    if (s.A.words != 1) throw Error(Errc::unsupported, "rows of complex numbers are not supported: a Solver takes them");
  });
  s.agree_on_options();
  s.agree_on(digest(s.machine), "the processes describe different machines: describe the same one to all, or none");
  s.accord.together([&] { s.rows = std::make_unique<RowsOnHost>(s.A); });
  s.join_rows();
  s.accord.together([&] {
    validate(s.A);
    s.values.assign(s.A.values, s.A.values + s.A.nnz());
    s.A.values = s.values.data();
  });
  s.choose();
  s.system.nullspace = checked_nullspace(s.A, nullspace, s.options, s.accord);
  s.choice = make_engine(s.options, s.machine.value_or(Machine{}), s.accord.processes(), s.A.rows());
  settle_method(s.chosen, s.system, s.options, s.machine, [&] { return s.load(); });
  Partition partition = s.partition();
  if (has_levels(s.chosen.preconditioner)) s.chosen.levels = levels_of_rows(s.A, s.options, partition, s.engine(), s.accord);
  s.parts.resize(std::size_t(s.engine().local_ranks()));
  s.engine().run([&](Rank& rank) {
    SharedCores share(s.engine().local_ranks());
    s.part(rank) = build_part(rank, s.system, s.chosen, s.options, partition);
  });
  if (s.chosen.levels) s.chosen.levels->release();
  require_pivots(s.parts.front().refused_row, s.chosen);
  s.setup_seconds = seconds_now() - begin;
}

void RowsSolver::Release::operator()(State* state) const {
  if (!state->choice.engine || !state->engine().has_lost_a_rank()) delete state;
}

RowsSolver::~RowsSolver() = default;
RowsSolver::RowsSolver(RowsSolver&&) noexcept = default;

void RowsSolver::attend(std::function<void()> meanwhile) { state_->meanwhile = std::move(meanwhile); }

void RowsSolver::stop(Status reason) {
  state_->stop_reason = int(reason);
  state_->engine().request_stop();
}

void RowsSolver::refuse(const Error& error) {
  state_->accord.together([&] { throw error; });
  throw error;  // which together() has done
}

void RowsSolver::State::agree_on(double mine, const char* otherwise) {
  auto most = accord.most({mine, -mine});
  if (most[0] != -most[1]) bad_argument(otherwise);
}

void RowsSolver::State::agree_on_options() {
  agree_on(digest(options), "the processes give different options; only ranks and devices may differ");
}

// Each process's rows must begin where those of the one before end. All are told, though each needs but one number.
void RowsSolver::State::join_rows() {
  accord.together([&] {
    if (A.rows() < 1) bad_argument("there are no rows here, and every process must hold one at least");
    if (options.ranks > A.rows())  // before threads are started for them
      bad_argument("more ranks (" + std::to_string(options.ranks) + ") than rows (" + std::to_string(A.rows()) + ")");
  });
  std::vector<double> ends(std::size_t(accord.count()));
  ends[std::size_t(accord.index())] = double(A.end_row());
  ends = accord.most(std::move(ends));
  accord.together([&] {
    i64 expected = accord.index() > 0 ? i64(ends[std::size_t(accord.index()) - 1]) : 0;
    if (A.first_row != expected)
      bad_argument("its rows begin with " + std::to_string(A.first_row) + ", and " + std::to_string(expected) +
                   " is expected: the processes hold consecutive rows, in their order, without gaps or overlaps");
  });
  A.n = i64(ends.back());
}

void RowsSolver::State::choose() {
  if (options.partition != "blocks")
    throw Error(Errc::unsupported, "partition is 'blocks' here: rows stay where the processes bring them");
  if (options.precond == "sqrt-jacobi")
    throw Error(Errc::unsupported,
                "precond sqrt-jacobi needs the diagonal of the whole matrix, which nobody sees here: use jacobi");
  if (options.storage != "auto" && options.storage != "csr")
    throw Error(Errc::unsupported, "storage is 'csr' here: nobody sees the diagonals of the whole matrix");
  if (options.precond == "block-ilu")
    throw Error(Errc::unsupported, "precond block-ilu is not supported here: the processes' rows may cut tiles");
  if (options.scalars != "device")
    throw Error(Errc::unsupported, "scalars are computed by the commands that use them here: leave scalars out");
  if (options.precond == "mg")
    throw Error(Errc::unsupported, "precond mg is not supported here: the processes' rows may cut layers of cells: use amg");
  accord.together([&] {
    require_devices(options);
    chosen.preconditioner = choose_preconditioner(A, options.precond);
    if (chosen.preconditioner == "chebyshev") chosen.bound = spectral_bound(A);
  });
  if (options.precond == "chebyshev") chosen.bound = accord.most({chosen.bound})[0];
  if (accord.most({chosen.preconditioner == "none" ? 1.0 : 0.0})[0] != 0)  // auto: by the rows of each
    chosen.preconditioner = "none";
  chosen.storage.name = "csr";
  choose_method();
  accord.together([&] { require_roots(*chosen.method, chosen.preconditioner, A); });
  if (chosen.preconditioner == "chebyshev" || is_incomplete(chosen.preconditioner)) require_any_preconditioner(*chosen.method);
  const auto is_symmetric = [&] { return options.symmetry != "general" && symmetric(A); };
  require_incomplete_fits(chosen, is_symmetric);
  if (has_levels(chosen.preconditioner)) require_levels_fit(A, options, chosen, accord, is_symmetric);
  if (chosen.method->replicated && !alone())
    throw Error(Errc::unsupported, "solver " + chosen.method->name +
                                       " keeps whole vectors on every rank, and here each process has its rows only");
  bool in_order = options.all_reduce == "auto" || options.all_reduce == "fastest" || options.all_reduce == "ordered";
  if (options.deterministic == "auto") options.deterministic = chosen.method->needs_spd || !in_order ? "off" : "on";
}

// But for what a machine is to decide.
void RowsSolver::State::choose_method() {
  const bool automatic = options.solver == "auto";
  const bool positive = accord.most({positive_diagonal(A) ? 0.0 : 1.0})[0] == 0;
  const bool said = options.symmetry == "hermitian" || options.symmetry == "symmetric";
  const bool found = (said || (options.symmetry == "auto" && automatic && positive)) && symmetric(A);
  if (said && !found) bad_argument("symmetry is said to be " + options.symmetry + ", and the matrix is not symmetric");
  const char* const cg = has_levels(options.precond) && options.cycle == "f" ? "fcg" : "cg";
  const MethodEntry& named = sordino::method(!automatic ? options.solver : found && positive ? cg : "bicgstab");
  chosen.method = &method_in_schedule(named, options);
  if (!automatic)
    chosen.why_method = "asked for";
  else if (!positive)
    chosen.why_method = "the diagonal of the matrix is not positive";
  else if (!found)
    chosen.why_method = "the matrix is not symmetric";
  else if (named.flexible)
    chosen.why_method = "the preconditioner is not symmetric";
}

// By the rows of all. Slabs in the middle have two neighbours, and who has the most ghosts is waited for.
Load RowsSolver::State::load() {
  std::vector<double> entries(std::size_t(accord.count()));
  entries[std::size_t(accord.index())] = double(A.nnz());
  entries = accord.most(std::move(entries));
  const int local = engine().local_ranks();
  const Partition mine = balance(A, local);
  const i64 ghosts = ghosts_of(A, mine.first_row(local / 2), mine.first_row(local / 2 + 1));
  const double all = std::accumulate(entries.begin(), entries.end(), 0.0);
  return {double(A.n) / engine().size(), all / double(A.n), accord.most({double(ghosts)})[0], engine().size()};
}

// Which engine is to run depends on it: so an engine of its own finds out.
bool RowsSolver::State::symmetric(const CsrView& rows) {
  if (alone()) return is_symmetric(rows);
  host::HostEngine engine({.ranks = 1, .timeout = options.timeout}, accord.processes()->transport(1));
  bool found = false;
  engine.run([&](Rank& rank) {
    auto firsts = Communicator(rank, channel).all_gather(std::vector<i64>{rows.first_row});
    found = is_symmetric(rank, rows, partition_at(rows.n, firsts));
  });
  return found;
}

// Each process cuts its own rows for its ranks. About as many blocks in all as a Solver has, and one a rank at least.
Partition RowsSolver::State::partition() {
  Partition mine = balance(A, engine().local_ranks(), std::max(1, default_blocks / accord.count()));
  if (alone()) return mine;
  Partition whole;
  engine().run([&](Rank& rank) {
    int local = rank.id() - engine().first_rank();
    auto from = mine.block_rows.begin();
    auto blocks = Communicator(rank, channel)
                      .all_gather(std::vector<i64>(from + mine.rank_blocks[local], from + mine.rank_blocks[local + 1]));
    if (local == 0) whole = partition_at(A.n, blocks);
  });
  return whole;
}

// Each process looks at the entries whose mirrors it has, too: what one of them finds is true of the whole matrix.
std::string RowsSolver::State::advice(Status status) {
  bool in_vain = status == Status::max_iterations || status == Status::breakdown || status == Status::indefinite ||
                 status == Status::stagnated || status == Status::diverged;
  if (!in_vain || !chosen.method->needs_spd) return "";
  if (accord.most({is_symmetric(A) ? 0.0 : 1.0})[0] == 0) return "";
  return "; the matrix is not symmetric, which solver " + chosen.method->name + " needs: use bicgstab";
}

SolveControl RowsSolver::State::control(Rank& rank) const {
  SolveControl c;
  c.rtol = options.rtol;
  c.atol = options.atol;
  c.max_iterations = options.maxiter > 0 ? options.maxiter : int(std::clamp<i64>(10 * A.n, 1000, 100000));
  c.stop_reason = [this, &rank] {  // all ranks ask, at the same iteration: the gravest reason of all processes
    return Status(Communicator(rank, channel).all_reduce(std::vector<i32>{stop_reason.load()}, Fold::max)[0]);
  };
  return c;
}

SolveOutcome RowsSolver::State::run(const double* b, double* x, const double* x0) {
  engine().clear_stop();
  stop_reason = int(Status::time_limit);
  SolveOutcome first;
  double begin = seconds_now(), last_call = begin;
  auto supervise = [&] {
    double now = seconds_now();
    if (options.time_limit > 0 && now - begin > options.time_limit) engine().request_stop();
    if (!meanwhile || now - last_call < 0.1) return;
    last_call = now;
    meanwhile();
  };
  auto job = [&](Rank& rank) {
    Driver& driver = *part(rank).driver;
    i64 row = driver.space().first_row - A.first_row;
    bool leads = rank.id() == engine().first_rank();
    SolveOutcome o = driver.solve(b + row, x0 ? x0 + row : nullptr, control(rank));
    if (leads || !driver.space().replicated) driver.read_solution(x + row);
    if (leads) first = std::move(o);
  };
  engine().run(job, supervise);
  first.reason += advice(first.status);
  return first;
}

Report RowsSolver::State::solve_in_range(const double* b, double* x, const double* x0) {
  Rank& rank = engine().rank(0);
  Ledger before = rank.ledger;
  double from = engine().now(rank);
  SolveOutcome o = run(b, x, x0);
  Report r;
  r.status = o.status;
  r.reason = std::move(o.reason);
  r.iterations = o.iterations;
  r.residual_norm = o.residual_norm;
  r.true_residual = o.b_norm > 0 ? o.residual_norm / o.b_norm : 0;
  r.outside_norm = o.outside_norm;
  r.history = std::move(o.history);
  r.recoveries = std::move(o.recoveries);
  r.ledger = difference(rank.ledger, before);
  r.seconds = r.ledger.time = engine().now(rank) - from;
  return r;
}

// On copies, scaled by 2^exponent, which is exact, so that (b,b) neither overflows nor vanishes.
Report RowsSolver::State::solve_on_host(const double* b, double* x, const double* x0, int exponent) {
  struct Restore {
    double &atol, kept;
    ~Restore() { atol = kept; }
  } restore{options.atol, options.atol};
  options.atol = std::ldexp(options.atol, exponent);
  auto b_here = scaled_on_host(b, A.rows(), exponent), x_here = std::vector<double>(b_here.size());
  auto x0_here = x0 ? scaled_on_host(x0, A.rows(), exponent) : std::vector<double>{};
  Report r = solve_in_range(b_here.data(), x_here.data(), x0 ? x0_here.data() : nullptr);
  scale_back(x_here, exponent, x);
  r.residual_norm = std::ldexp(r.residual_norm, -exponent);
  r.outside_norm = std::ldexp(r.outside_norm, -exponent);
  return r;
}

Report RowsSolver::solve(const double* b, double* x, const double* x0) {
  Range range("sordino: solve");
  State& s = *state_;
  double most = 0;
  bool on_gpus = false;
  s.accord.enter("solve");
  s.accord.together([&] {
    sordino::validate(s.options);
    on_gpus = s.callers.settle(b, x, x0);
    most = s.callers.measure(b, s.A.rows(), s.A.first_row, "the right-hand side").largest;
    if (x0) s.callers.measure(x0, s.A.rows(), s.A.first_row, "x0");
  });
  s.agree_on_options();
  most = s.accord.most({most})[0];
  bool in_range = Magnitude::in_range(most);
  if (in_range && (!on_gpus || s.engine().is_device())) return s.solve_in_range(b, x, x0);
  return s.solve_on_host(b, x, x0, in_range ? 0 : -std::ilogb(most));
}

void RowsSolver::update_values(const double* values) {
  State& s = *state_;
  CsrView updated = s.A;
  double bound = 0;
  s.accord.enter("update_values");
  s.accord.together([&] {
    OnHost<double> given(values, s.A.nnz(), "values", s.callers.stream());
    s.next_values.assign(given.data(), given.data() + s.A.nnz());
    updated.values = s.next_values.data();
    validate_values(s.A, updated.values);
    if (s.chosen.preconditioner == "jacobi") choose_preconditioner(updated, "jacobi");  // says which diagonal entry is zero
    require_roots(*s.chosen.method, s.chosen.preconditioner, updated);
    if (s.chosen.preconditioner == "chebyshev") bound = spectral_bound(updated);
    if (s.chosen.levels) require_positive_diagonal(updated, "precond amg");
  });
  if (s.chosen.preconditioner == "chebyshev") s.chosen.bound = s.accord.most({bound})[0];
  require_mapped_to_zero(updated, s.system.nullspace, s.options, s.accord);
  require_incomplete_fits(s.chosen, [&] { return s.symmetric(updated); });
  refactorize(s.engine(), s.parts, s.chosen, updated, s.A);
  if (s.chosen.levels) s.chosen.levels->update(updated);
  s.values.swap(s.next_values);
  s.A = updated;
  s.engine().run([&](Rank& rank) { s.part(rank).update_values(rank, s.A, nullptr, s.chosen.bound); });
}

void RowsSolver::set_stream(void* stream) { state_->callers.set_stream(stream); }
Options& RowsSolver::options() { return state_->options; }
i64 RowsSolver::n() const { return state_->A.n; }
i64 RowsSolver::rows() const { return state_->A.rows(); }
int RowsSolver::ranks() const { return state_->engine().size(); }
double RowsSolver::setup_seconds() const { return state_->setup_seconds; }
const std::string& RowsSolver::method() const { return state_->chosen.method->name; }
const std::string& RowsSolver::why_method() const { return state_->chosen.why_method; }
const std::string& RowsSolver::why_steps() const { return state_->chosen.why_steps; }
int RowsSolver::steps() const { return state_->parts[0].driver->steps(); }
const std::string& RowsSolver::preconditioner() const { return state_->chosen.preconditioner; }
const char* RowsSolver::engine() const { return state_->engine().name(); }

}  // namespace sordino
