// Replays a method, recomputes the residual, and only then says `converged`. The same for every method and engine.
#pragma once
#include <functional>
#include <optional>

#include "sordino/base/recovery.hpp"
#include "sordino/base/status.hpp"
#include "sordino/linalg/timed_products.hpp"
#include "sordino/solvers/approach.hpp"
#include "sordino/solvers/best_x.hpp"
#include "sordino/solvers/linear_system.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {

struct SolveControl {
  double rtol = 1e-5, atol = 0;
  int max_iterations = 1000;
  /// Why a loop was asked to stop (time limit, interrupt, user).
  std::function<Status()> stop_reason = [] { return Status::interrupted; };
};

struct SolveOutcome {
  Status status = Status::max_iterations;
  std::string reason;  // one sentence
  int iterations = 0;  // updates of x; one of s directions counts as s
  std::vector<Recovery> recoveries;
  double b_norm = 0;         // of the part of b that A can reach, where there is a nullspace
  double outside_norm = 0;   // and of the rest, which was taken away
  double residual_norm = 0;  // ||b - A x||_2, recomputed
  /// ||r||_2 / ||b||_2 after each iteration, by the recurrence; where x is updated once in s iterations, it stays between. Of a
  /// scaled system ||S r||_2 times the ratio of both norms when the driver next took them.
  std::vector<double> history;
};

/// One rank's part of a solver. Constructed once: all vectors, recordings, and their graphs, those of ways that a solve seldom
/// goes among them; a solve makes none. SPMD: all ranks call the same members.
class Driver {
 public:
  Driver(Rank& rank, const Operator& A, const Preconditioner& M, const MethodEntry& method, int check_every, int replace_every,
         const Watch& watch = {}, const Nullspace& nullspace = {}, const StepBasis& basis = {});

  /// b, x0 [rows of this rank's space]; x0 may be null (zero). Every rank gets the same outcome.
  /// Of a singular system the part of b outside the range of A is taken away first, x is kept orthogonal to the nullspace, and
  /// the residual is that of the system that is left.
  SolveOutcome solve(const double* b, const double* x0, const SolveControl& control);
  void read_solution(double* x) const;  // [rows]
  /// A or M has other values than in the solves before. Costs what the method prepares, at setup, too.
  void values_changed();
  /// Iterations that the method takes at once, where it has not fallen back.
  int steps() const { return steps_; }
  /// What its iterations replay, where it has not fallen back.
  const Recording& loop() const { return method_->iterate.recording(); }
  /// How much larger the norm of a residual is than what the loop knows of it: 1, but for a scaled system. From any thread.
  double norm_ratio() const { return system_.ratio(); }
  const Space& space() const { return s_.space(A_.space()); }
  /// For benchmarks: TimedProducts::seconds with A.
  double time_product(int pairs, const double* x);

 private:
  bool has_another_way();  // that takes over where the method does not get on
  void rehearse();
  bool is_looked_at() const { return system_.is_scaled() || method_->levels_out; }  // at the residual, between stretches
  void rehearse_way(Rehearsal& all);
  void rehearse_replacements(Rehearsal& all);
  void rehearse_stretches(Rehearsal& all);
  void rehearse_look(Rehearsal& all);
  bool replaces() const { return replace_every_ > 0 && bool(method_->replace); }
  /// How a run of the loop ended, and what was wrong with its recurrence, as half a sentence.
  struct Ending {
    Verdict verdict;
    const char* why;
  };
  Ending iterate(int left, double norm, double aim, SolveOutcome& out);
  int stretch(int wanted, int left) const;
  bool has_parted();
  void keep_at_look(double norm, int iteration);
  void tell_history(int begun, double norm, SolveOutcome& out) const;
  static void tell_last(double norm, SolveOutcome& out);
  void look_at_last(const Outcome& outcome, int iterations);
  void keep(double norm, int iteration);
  std::optional<Recovery::Kind> recovery(Verdict verdict, double norm, double before, const SolveOutcome& out);

  Rank& s_;
  const Operator& A_;
  LinearSystem system_;
  BestX best_;
  Scal target_, bound_, seen_rr_;
  std::unique_ptr<Watcher> watcher_;     // null: nobody looks
  const Operator* operation_;            // that M is; null: it is none
  std::unique_ptr<DeflatedOperator> M_;  // where M is an operator and A singular
  std::unique_ptr<Method> method_;
  int check_every_, replace_every_, steps_ = 1;
  int kept_ = 0;  // the iteration of the x that was promised
  Recorded look_;
  std::unique_ptr<TimedProducts> products_;  // where somebody has asked for them
};

}  // namespace sordino
