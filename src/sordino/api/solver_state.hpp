// What a Solver holds, and does in its parts.
#pragma once
#include <atomic>

#include "sordino/api/callers.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/grid_system.hpp"
#include "sordino/api/method_choice.hpp"
#include "sordino/api/part.hpp"
#include "sordino/api/solver.hpp"

namespace sordino {

struct Solver::State {
  System system;
  CsrView& A = system.A;
  Callers callers;
  GridMatrix fields;                        // by which the matrix was given; its arrays are the first ones
  std::string setup_reason;                 // likewise
  LargeCsr of_grid;                         // A's arrays, if they were made of a grid's fields
  RowsOnHost rows;                          // A's arrays, if they were on a GPU
  std::vector<double> values, next_values;  // the same of later ones, in turns, so that refused ones change nothing
  Options options;
  std::optional<Machine> machine = {};  // that solver=auto goes by
  Choice chosen;
  std::unique_ptr<ScaledMatrix> scaled;  // what is iterated with, where that is not A
  EngineChoice choice;
  std::function<EngineChoice()> another_engine = {};  // of the same kind; null: the caller has made it
  std::vector<Part> parts;                            // destroyed before the engine
  bool is_set_up = false;                             // false later on: storing new values in another way has failed
  double setup_seconds = 0;
  int exponent = 0;            // the running solve is scaled by 2^exponent
  std::vector<double> seen_x;  // scaled back for the watch
  std::atomic<int> stop_reason{int(Status::interrupted)};

  Engine& engine() { return *choice.engine; }
  State(const System& wanted, const Options& asked);
  void set_up(EngineChoice made);
  bool holds(const CsrView& updated) const;
  void require_one_method();
  void refactorize(const CsrView& updated);
  void require_set_up() const;
  void rescale(const CsrView& updated);
  void set_up_again();
  void update_rows(const double* given);  // which may be next_values
  void update_fields(const GridMatrix& fields);
  const double* scaled_back(const double* x);
  SolveControl control();
  void solve_part(Rank& rank, const double* b, const double* x0, double* x, SolveOutcome& first);
  void collect(Rank& rank, double* x);
  using LookAt = std::function<bool(int iteration, double rr)>;
  double run(const std::function<void(Rank&)>& job, const LookAt& look);
  void stop(Status reason);
  struct Sides {  // [columns] pointers to vectors
    std::vector<const double*> b, x0;
    std::vector<double*> x;
  };
  void make_columns(int columns);
  std::vector<Report> solve_at_once(const Sides& sides, const LookAt& look);
  void fill(Report& report, SolveOutcome& outcome, const Ledger& before);
};

}  // namespace sordino
