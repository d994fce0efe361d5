// The door for C++, Python and C: a matrix goes in once, right-hand sides come and go.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/api/system.hpp"
#include "sordino/base/ledger.hpp"
#include "sordino/base/recovery.hpp"
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
  double residual_norm = 0;          // ||b - A x||_2; where there is a nullspace, of the part of b that A can reach
  double true_residual = 0;          // relative to ||b||_2
  double outside_norm = 0;           // of the part of b outside the range of A, which was taken away
  double seconds = 0;                // on the engine's clock
  std::vector<double> history;       // ||r||_2 / ||b||_2 after each iteration, by the method's recurrence
  std::vector<Recovery> recoveries;  // what was done where the recurrence led no further, in order
  Ledger ledger;                     // of the first rank of this process, this solve alone
  std::vector<Span> trace;
};

/// Called about 10 times a second while solving; returning true stops the solve (status stopped_by_user).
using ProgressCallback = std::function<bool(int iteration, double relative_residual)>;

class Solver {
 public:
  /// Sets up once: partition, halos, vectors, recordings, graphs. `A` has sorted columns; its arrays must outlive the solver
  /// (the host engine views them), but for those on a GPU, which are copied to the host: 12 bytes an entry, 8 a row. They are
  /// to be complete once the legacy default stream of their GPU is. Throws Error. `machine` is what the model engine runs on,
  /// and, on every engine, what solver=auto goes by: without one a symmetric positive definite matrix gets cg.
  Solver(const CsrView& A, const Options& options, const std::optional<Machine>& machine = {});
  /// The same on an engine that the caller has made; the options that choose one are not looked at.
  Solver(const CsrView& A, const Options& options, EngineChoice engine);
  /// The same for a system that is more than a matrix.
  Solver(const System& system, const Options& options, const std::optional<Machine>& machine = {});
  ~Solver();
  Solver(Solver&&) noexcept;

  /// Solves A x = b. b [n] (of a complex matrix [n][2], as x), x [n] (out; where this process holds rank 0), x0 [n] or null.
  /// Later solves make no new partition, window, graph or allocation. Throws Error for NaN or Inf in b or x0, and for failures
  /// of ranks or devices; how the numerics went is in the report's status.
  ///
  /// Each of b, x and x0 is memory of the host or of any GPU (cudaMalloc and its pools; not managed). With engine cuda and one
  /// process each rank copies its rows from GPU to GPU, 8 n bytes for each vector, and b and x0 are read once more to look for
  /// NaN; else, and where b is beyond 1e-30 ... 1e30, they go by way of the host, through memory that is allocated for it. Work
  /// of the caller's on them is waited for as set_stream() says; x is complete when solve() returns, for every stream. The
  /// thread's current device stays what it was.
  Report solve(const double* b, double* x, const double* x0 = nullptr, const ProgressCallback& progress = {});
  /// How many right-hand sides solve_columns() takes: up to 8 of a real H-matrix by bicgstab with a diagonal preconditioner or
  /// none, vectors distributed, nobody looking; else 1.
  int columns_at_once() const;
  /// Solves A x_c = b_c for all c at once, so that the matrix is read once for all: b, x, and x0 or nulls, [columns] pointers
  /// to vectors as solve() has them, in memory of the host. Each column has the recurrence, restarts and report that it has
  /// alone, but for what is of all: ledger and trace, `seconds`, of which it is told a share by its iterations, and the time
  /// limit. On engines host and model it has the bits that it has alone. `progress` is told of the column with the largest
  /// residual. Columns beyond 1e-30 ... 1e30 are solved by themselves. The first call of 2, of up to 4 and of up to 8 makes
  /// vectors and recordings: 8 more vectors for each column, and what of_columns() of the product has. Throws bad_argument for
  /// more columns than columns_at_once(), and as solve().
  std::vector<Report> solve_columns(const std::vector<const double*>& b, const std::vector<double*>& x,
                                    const std::vector<const double*>& x0, const ProgressCallback& progress = {});
  /// New values [nnz] for the same pattern; they must outlive the next update as the old ones had to. Those on a GPU are copied
  /// to the host first, where ranks cut their layouts: 8 bytes an entry. Values that are not symmetric bit by bit, where option
  /// storage is auto and those before were and lie by symmetric diagonals, are set up anew, engine and all, and lie by
  /// diagonals from then on; on an engine that the caller has made they are refused, as with storage symdia. So are those with
  /// too many different rows, with storage constant.
  void update_values(const double* values);
  /// New fields of the same grid's cells, of a matrix that was given by some, of the host or of any GPU. Where setup made
  /// levels of them, these are made again where they lie, and what the ranks multiply by; nothing is recorded or captured
  /// again, but where phases come that were not there: then all is set up anew. They may change once this returns. Else values
  /// of rows are made of them, as update_values() takes them, 8 bytes an entry. Refused ones leave all as it was. Throws Error.
  /// Cost: of a setup what makes levels and fills operators.
  void update_values(const GridMatrix& fields);
  /// The stream (a cudaStream_t of any GPU) whose work is waited for before vectors on GPUs are touched. Null, the default: the
  /// legacy default stream of the GPU that has the vector, and with it every stream that was not made non-blocking. It must
  /// exist until another is named.
  void set_stream(void* stream);
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
  /// For each rank of this process: device and pinned memory, graphs and events made so far. A later solve makes none.
  std::vector<i64> device_allocations() const;
  /// For each rank of this process: seconds that it has waited for others' rows in all solves and products so far. That some
  /// had more to do, and sent theirs late, is part of it.
  std::vector<double> exposed_halos() const;
  const std::string& method() const;
  const std::string& why_method() const;  // in words that go on after "the solver is ..., as ", or "asked for"
  const std::string& preconditioner() const;
  const std::string& why_preconditioner() const;  // as why_method(); empty: nobody chose
  const std::string& why_steps() const;           // of s, likewise
  int steps() const;  // iterations that the method takes at once, which is once round its loop; 1 but for cbcg
  const std::string& symmetry() const;       // hermitian, symmetric or general, as found or said; empty: nobody looked
  const std::string& storage() const;        // csr, dia, symdia or constant; empty: A is a function
  const std::string& why_stored_so() const;  // what that hung on, or "asked for"
  const std::string& setup_reason() const;   // of a grid's fields: whether rows were made of them, and why; else empty
  std::string engine() const;
  std::string transport() const;

 private:
  Report solve_in_range(const double* b, double b_norm, double* x, const double* x0, const ProgressCallback& progress);
  Report solve_on_host(const double* b, double* x, const double* x0, int exponent, const ProgressCallback& progress);

  struct State;
  struct Release {
    void operator()(State* state) const;  // keeps it for a rank that never came back
  };
  std::unique_ptr<State, Release> state_;
};

}  // namespace sordino
