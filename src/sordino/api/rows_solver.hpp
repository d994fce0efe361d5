// The door for programs that already run on several processes: each brings the rows of the matrix that it owns, and keeps them.
#pragma once
#include <functional>
#include <memory>

#include "sordino/api/solver.hpp"
#include "sordino/comm/accord.hpp"

namespace sordino {

/// A solver whose rows stay where they are: process p holds consecutive rows of A, and the same entries of b and x; the rows of
/// process p + 1 follow on those of process p. No process ever has all of A, b or x, and none needs memory that grows with the
/// number of rows of the others, but for the halo. SPMD: all processes call the same members in the same order, and every one
/// of them waits for all others. An error in one process is thrown in all, with the same sentence, and the solver goes on.
class RowsSolver {
 public:
  /// `rows` holds rows.held rows; rows.first_row must say where they stand, and rows.n is not looked at. indptr and indices
  /// must outlive the solver; the values are copied, and so is what lies on a GPU, to the host. Accord(nullptr): this process
  /// alone, which holds all rows. The options must be the same in all processes, but for ranks and devices; ranks 0 means one
  /// rank a process if there are several. `arrays`: what holds indptr and indices, where that is not the caller's care; it is
  /// dropped when nothing reads them any more, which after a lost rank is never. `machine`, the same in all processes, is what
  /// the model engine runs on, and what solver=auto goes by (method_choice.hpp). `nullspace`: as of a System, each vector by
  /// the rows that are here, from the same first row on. Precond amg: precond/shared_levels.hpp. Throws Error.
  RowsSolver(const CsrView& rows, const Options& options, Accord accord, std::shared_ptr<const void> arrays = nullptr,
             const std::optional<Machine>& machine = {}, const Nullspace& nullspace = {});
  ~RowsSolver();
  RowsSolver(RowsSolver&&) noexcept;

  /// Solves A x = b. b, x, x0 [rows of this process]; x0 may be null. Sums are taken over blocks of rows that follow the
  /// distribution: the same distribution gives the same bits. Throws Error for NaN or Inf, and for failures of ranks or
  /// devices; how the numerics went is in the report's status, which is the same in all processes. Where a method that needs a
  /// symmetric matrix has failed, each looks at its own rows, once, and the reason says if they are not. Each of b, x and x0 is
  /// memory of the host or of any GPU, in each process as it likes; what that costs, and in which order it is read, is as of a
  /// Solver, but that with engine cuda no number of processes makes a detour by way of the host.
  Report solve(const double* b, double* x, const double* x0 = nullptr);
  /// From now on `meanwhile` is called some ten times a second by the thread that solves, while the ranks work.
  void attend(std::function<void()> meanwhile);
  /// Ends the running solve in all processes at their next iteration, with the best x so far and this status, which is not
  /// converged. From any thread, but when no solve runs it is forgotten.
  void stop(Status reason);
  /// New values [entries of this process] for the same pattern, copied. If they are refused, the old ones stay. Of precond
  /// amg: through the same aggregates, as of a Solver.
  void update_values(const double* values);
  /// As of a Solver.
  void set_stream(void* stream);
  /// In place of solve() or update_values(), in a process that cannot call it: throws the error there in all processes.
  [[noreturn]] void refuse(const Error& error);
  /// rtol, atol, maxiter and time_limit may be changed between solves, in all processes alike; the others are fixed.
  Options& options();

  i64 n() const;      // rows of the whole matrix
  i64 rows() const;   // of this process
  int ranks() const;  // of all processes
  double setup_seconds() const;
  const std::string& method() const;
  const std::string& why_method() const;  // as of a Solver
  const std::string& why_steps() const;   // likewise
  int steps() const;                      // likewise
  const std::string& preconditioner() const;
  const char* engine() const;

 private:
  struct State;
  struct Release {
    void operator()(State* state) const;  // keeps it for a rank that never came back
  };
  std::unique_ptr<State, Release> state_;
};

}  // namespace sordino
