// Solves of several right-hand sides at once, which read the matrix once for all of them.
#include <algorithm>
#include <cmath>

#include "sordino/api/hmatrix_diagonal.hpp"
#include "sordino/api/solver_state.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/base/shared_cores.hpp"

namespace sordino {
namespace {

/// 2, 4 or 8.
int width(std::size_t columns) {
  int w = 2;
  while (std::size_t(w) < columns) w *= 2;
  return w;
}

template <class P>
std::vector<P*> from_row(std::vector<P*> columns, i64 row) {
  for (P*& column : columns)
    if (column) column += row;
  return columns;
}

/// How many right-hand sides a part takes at once.
int most_of(const System& s, const Choice& c, const Part& part) {
  const bool of_method = c.method == &method("bicgstab") && s.hmatrix;
  const bool by_diagonal = c.preconditioner == "none" || c.preconditioner == "jacobi" || !s.diagonal.empty();
  const bool plain = s.watch.every == 0 && s.nullspace.empty() && !s.brings_operator();
  return of_method && by_diagonal && plain ? part.hmatrix->most_columns() : 1;
}

/// Collective. A solver of 2, 4 or 8 columns, which shares the matrix's values and tables with the part.
ColumnsPart build(Rank& rank, const Part& part, const System& s, const Choice& c, const Options& o, const Partition& partition,
                  int columns) {
  Range range("set up several columns");
  ColumnsPart p;
  auto wide = part.hmatrix->of_columns(rank, *s.hmatrix, partition, c.distribution, columns);
  p.A = std::make_unique<hmatrix::HMatrixOperator>(std::move(wide));
  const int space = rank.space(p.A->space()).numbers;
  if (c.preconditioner == "jacobi")
    p.M = inverse_diagonal(rank, space, *s.hmatrix, Factors::real);
  else if (!s.diagonal.empty())
    p.M = std::make_unique<GivenDiagonal>(rank, space, s.diagonal.data(), Factors::real);
  else
    p.M = std::make_unique<Identity>();
  p.driver = std::make_unique<columns::ColumnsDriver>(rank, *p.A, p.M->diagonal(), o.check_every);
  return p;
}

/// What each report says of the time of all.
void share_seconds(std::vector<Report>& reports, double seconds) {
  double all = 0;
  for (const Report& r : reports) all += 1 + r.iterations;
  for (Report& r : reports) {
    r.seconds = seconds * (1 + r.iterations) / all;
    r.ledger.time = seconds;
  }
}

}  // namespace

int Solver::columns_at_once() const {
  const State& s = *state_;
  int most = hmatrix::most_columns;
  for (const Part& p : s.parts) most = std::min(most, most_of(s.system, s.chosen, p));
  return most;
}

/// What ranks have of so many columns; they make it together when it is first asked for.
void Solver::State::make_columns(int columns) {
  if (parts.front().of_columns.count(columns)) return;
  const Partition partition = partition_of(system, chosen, engine());
  std::vector<ColumnsPart> made(parts.size());
  engine().run([&](Rank& rank) {
    SharedCores share(engine().local_ranks());
    const std::size_t i = std::size_t(rank.id() - engine().first_rank());
    made[i] = build(rank, parts[i], system, chosen, options, partition, columns);
  });
  for (std::size_t i = 0; i < parts.size(); i++) parts[i].of_columns[columns] = std::move(made[i]);
}

std::vector<Report> Solver::State::solve_at_once(const Sides& sides, const LookAt& look) {
  const int columns = width(sides.b.size());
  make_columns(columns);
  const Ledger before = engine().rank(0).ledger;
  std::vector<SolveOutcome> outcomes;
  auto job = [&](Rank& rank) {
    const Part& p = parts[std::size_t(rank.id() - engine().first_rank())];
    columns::ColumnsDriver& driver = *p.of_columns.at(columns).driver;
    const i64 row = driver.space().first_row;
    auto found = driver.solve(from_row(sides.b, row), from_row(sides.x0, row), control());
    driver.read_solutions(from_row(sides.x, row));
    for (double* x : sides.x) collect(rank, x);
    if (rank.id() == engine().first_rank()) outcomes = std::move(found);
  };
  const double seconds = run(job, look);
  std::vector<Report> reports(outcomes.size());
  for (std::size_t k = 0; k < reports.size(); k++) fill(reports[k], outcomes[k], before);
  share_seconds(reports, seconds);
  return reports;
}

std::vector<Report> Solver::solve_columns(const std::vector<const double*>& b, const std::vector<double*>& x,
                                          const std::vector<const double*>& x0, const ProgressCallback& progress) {
  Range range("sordino: solve several columns");
  State& s = *state_;
  validate(s.options);
  s.require_set_up();
  if (b.empty() || int(b.size()) > columns_at_once() || x.size() != b.size() || x0.size() != b.size())
    bad_argument("there are " + std::to_string(b.size()) + " right-hand sides, " + std::to_string(x.size()) +
                 " places for solutions and " + std::to_string(x0.size()) + " first guesses, and this solver takes " +
                 std::to_string(columns_at_once()) + " at once");
  State::Sides here;
  std::vector<std::size_t> which, apart;  // those that are here, and those to be scaled
  for (std::size_t k = 0; k < b.size(); k++) {
    if (s.callers.settle(b[k], x[k], x0[k]))
      throw Error(Errc::unsupported, "several right-hand sides at once are taken from memory of the host");
    const Magnitude of_b = s.callers.measure(b[k], s.system.words(), 0, "the right-hand side", s.A.words);
    if (x0[k]) s.callers.measure(x0[k], s.system.words(), 0, "x0", s.A.words);
    const bool in_range = Magnitude::in_range(of_b.largest);
    (in_range ? which : apart).push_back(k);
    if (in_range) here.b.push_back(b[k]), here.x0.push_back(x0[k]), here.x.push_back(x[k]);
  }
  State::LookAt look;
  if (progress) look = [&](int iteration, double relative) { return progress(iteration, std::sqrt(relative)); };
  std::vector<Report> reports(b.size());
  if (!which.empty()) {
    auto made = s.solve_at_once(here, look);
    for (std::size_t k = 0; k < made.size(); k++) reports[which[k]] = std::move(made[k]);
  }
  for (std::size_t k : apart) reports[k] = solve(b[k], x[k], x0[k], progress);
  return reports;
}

}  // namespace sordino
