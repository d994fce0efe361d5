// The door for C++, Python and C: a matrix goes in once, right-hand sides come and go.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/api/system.hpp"
#include "sordino/base/ledger.hpp"
#include "sordino/base/status.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/trace.hpp"

namespace sordino {

struct EngineChoice;

/// How a solve went. x is verified: `residual_norm` has been recomputed from it.
struct Report {
  Status status = Status::max_iterations;
  std::string reason;  // one sentence
  int iterations = 0;
  double residual_norm = 0;     // ||b - A x||_2
  double true_residual = 0;     // relative to ||b||_2
  double seconds = 0;           // on the engine's clock
  std::vector<double> history;  // ||r||_2 / ||b||_2 after each iteration, by the method's recurrence
  Ledger ledger;                // of the first rank of this process, this solve alone
  std::vector<Span> trace;
};

/// Called about 10 times a second while solving; returning true stops the solve (status stopped_by_user).
using ProgressCallback = std::function<bool(int iteration, double relative_residual)>;

class Solver {
 public:
  /// Sets up once: partition, halos, vectors, recordings, graphs. `A` has sorted columns; its arrays must outlive the solver
  /// (the host engine views them). Throws Error. `machine` is what the model engine runs on.
  Solver(const CsrView& A, const Options& options, const Machine& machine = {});
  /// The same on an engine that the caller has made; the options that choose one are not looked at.
  Solver(const CsrView& A, const Options& options, EngineChoice engine);
  /// The same for a system that is more than a matrix.
  Solver(const System& system, const Options& options, const Machine& machine = {});
  ~Solver();
  Solver(Solver&&) noexcept;

  /// Solves A x = b. b [n] (of a complex matrix [n][2], as x), x [n] (out; where this process holds rank 0), x0 [n] or null.
  /// Later solves make no new partition, window, graph or allocation. Throws Error for NaN or Inf in b or x0, and for failures
  /// of ranks or devices; how the numerics went is in the report's status. `interrupted` is polled; it may be set from a signal
  /// handler.
  Report solve(const double* b, double* x, const double* x0 = nullptr, const ProgressCallback& progress = {});
  /// New values [nnz] for the same pattern; they must outlive the next update as the old ones had to.
  void update_values(const double* values);
  /// For benchmarks: seconds of one product with its halo, replayed `2 * pairs` times as a solver would; the slowest rank
  /// counts.
  double time_product(int pairs);
  /// Ends the running solve at the next iteration on all ranks. Async-signal-safe.
  void stop(Status reason);

  /// rtol, atol, maxiter and time_limit may be changed between solves; the others are fixed by the setup.
  Options& options();

  int ranks() const;       // of all processes
  int first_rank() const;  // of this process
  double setup_seconds() const;
  std::vector<i64> memory() const;  // bytes that each rank of this process holds where it computes
  const std::string& method() const;
  const std::string& preconditioner() const;
  const std::string& symmetry() const;  // hermitian, symmetric or general, as found or said; empty: nobody looked
  std::string engine() const;
  std::string transport() const;

 private:
  Report solve_in_range(const double* b, double* x, const double* x0, const ProgressCallback& progress);

  struct State;
  struct Release {
    void operator()(State* state) const;  // keeps it for a rank that never came back
  };
  std::unique_ptr<State, Release> state_;
};

}  // namespace sordino
