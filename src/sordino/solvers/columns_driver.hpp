// Solves of several columns at once: verified, restarted and told column by column, as the driver does it of one system.
#pragma once
#include <functional>
#include <vector>

#include "sordino/solvers/columns.hpp"
#include "sordino/solvers/driver.hpp"

namespace sordino::columns {

/// One rank's part of a solver of C columns, or of fewer: the others are zero. Constructed once, as a Driver. SPMD.
///
/// A loop goes on until all columns have ended, each by its own test; then one product gives the residuals of all. Columns that
/// are to begin anew do so together, while the x of the others stays what it is: each has the recurrence, the restarts and the
/// promises that it has alone.
class ColumnsDriver {
 public:
  ColumnsDriver(Rank& rank, const Operator& A, Scaling d, int check_every);

  /// b, and x0 or nulls: [columns] pointers to this rank's rows. Every rank gets the same outcomes, one for each b.
  std::vector<SolveOutcome> solve(const std::vector<const double*>& b, const std::vector<const double*>& x0,
                                  const SolveControl& control);
  void read_solutions(const std::vector<double*>& x);                            // [columns][rows]
  const Space& space() const { return s_.space(s_.space(A_.space()).numbers); }  // of a column
  const Recording& loop() const { return all_.way.iterate.recording(); }

 private:
  struct Column {
    SolveOutcome out;
    double target = 0, first = 0, norm = 0;  // norms of residuals: asked for, at the beginning, and recomputed
    double aim = 0, before = 0;              // of the run of the loop: where it is to end, and where it began
    bool is_open = true;                     // nothing final has been said of it
    bool had_parted = false;                 // x is near what can be attained: what overflows there is rounding
    Verdict verdict = proceed;               // how its part of the loop ended
    bool is_met() const { return norm <= target; }
  };
  /// By columns, as all that is chosen.
  using Chosen = std::vector<bool>;

  void rehearse();
  void begin(const std::vector<const double*>& b, const std::vector<const double*>& x0, const SolveControl& control);
  bool close_spent(int max_iterations);
  void iterate(int max_iterations);
  bool take_log(int max_iterations, Verdict verdict);
  void verify();
  bool begins_anew(std::size_t k, const SolveControl& control);
  void settle(const std::vector<const double*>& x0);

  std::vector<double> residuals();
  void take_promised(const Chosen& of);
  void replay_of(const Chosen& of, Recorded& recorded);
  void write(Vec v, const std::vector<const double*>& columns);
  template <class F>
  Chosen those(const F& f) const;

  Rank& s_;
  const Operator& A_;
  Columns all_;
  std::vector<Column> columns_;      // of the running solve
  std::vector<double> interleaved_;  // [rows][C]
};

}  // namespace sordino::columns
