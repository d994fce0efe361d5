// Precond amg: that its levels are what they are said to be; iterations where phases differ a millionfold; every method that
// takes more than a diagonal, with the same bits on host and model; that M is symmetric and positive; new values; what is
// refused.
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/precond/aggregation.hpp"

using namespace cycles;
using namespace problems;

namespace {

Options with(const std::string& method = "cg", const std::string& engine = "host", int ranks = 1) {
  Options o = options(method, engine, ranks);
  o.precond = "amg";
  return o;
}

/// A line of cells that conduct a million times better winds through others: each row of the plane is one phase, each second
/// the other.
CsrMatrix layers(i64 nx, i64 ny, double contrast) {
  matrices::Rows rows(static_cast<std::size_t>(nx * ny));
  auto conductivity = [&](i64 y) { return y % 2 == 0 ? contrast : 1.0; };
  auto couple = [&](i64 a, i64 b, double value) {
    for (auto [i, j] : {std::pair(a, b), std::pair(b, a)})
      rows[std::size_t(i)][i32(j)] = -value, rows[std::size_t(i)][i32(i)] += value;
  };
  for (i64 y = 0; y < ny; y++)
    for (i64 x = 0; x < nx; x++) {
      const i64 i = x + nx * y;
      if (x + 1 < nx) couple(i, i + 1, conductivity(y));
      if (y + 1 < ny) couple(i, i + nx, 2 / (1 / conductivity(y) + 1 / conductivity(y + 1)));
      if (x == 0) rows[std::size_t(i)][i32(i)] += 2 * conductivity(y);
    }
  return matrices::csr(rows);
}

/// Two cells in the middle without a coupling to others, held by nothing.
CsrMatrix with_pocket(CsrMatrix A, i64 cell) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
      const i64 j = A.indices[std::size_t(k)];
      const bool row = i == cell || i == cell + 1, column = j == cell || j == cell + 1;
      if (row || column) A.values[std::size_t(k)] = row && column ? (i == j ? 1 : -1) : 0;
    }
  return A;
}

/// P^T A P / 1.6 by its definition, and what its rows' diagonals add up to.
void check_coarse(const CsrView& A, const MapMatrix& P, const CsrMatrix& coarse) {
  std::vector<std::map<i32, double>> rows(std::size_t(P.columns));
  auto aggregate = [&](i64 i) {
    return P.indptr[std::size_t(i)] == P.indptr[std::size_t(i) + 1] ? -1 : P.indices[std::size_t(P.indptr[std::size_t(i)])];
  };
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
      if (const i32 to = aggregate(i), from = aggregate(A.indices[k]); to >= 0 && from >= 0)
        rows[std::size_t(to)][from] += A.values[k] / 1.6;
  const matrices::Rows found = matrices::rows(coarse);
  REQUIRE(found.size() == rows.size());
  bool same = true, mirrored = true;
  for (std::size_t i = 0; i < rows.size(); i++) {
    same = same && found[i].size() == rows[i].size();
    const double diagonal = found[i].at(i32(i));
    for (auto [j, value] : found[i]) {
      same = same && std::abs(value - rows[i].at(j)) <= 1e-13 * diagonal;
      mirrored = mirrored && found[std::size_t(j)].at(i32(i)) == value;
    }
  }
  CHECK(same);
  CHECK(mirrored);
}

/// Each row that couples with another, and that its diagonal does not hold, is in one aggregate, of rows of its rank, and these
/// are numbered as their first rows are.
void check_aggregates(const CsrView& A, const MapMatrix& P, const Partition& fine, const Partition& coarse) {
  std::vector<std::set<i64>> members(std::size_t(P.columns));
  bool all = true, within = true;
  for (i64 i = 0; i < A.n; i++) {
    double diagonal = 0, others = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) (A.indices[k] == i ? diagonal : others) += std::abs(A.values[k]);
    const i64 begin = P.indptr[std::size_t(i)], end = P.indptr[std::size_t(i) + 1];
    all = all && end - begin <= (others > 0) && end - begin >= (others > 0.11 * diagonal);
    if (begin == end) continue;
    const i32 aggregate = P.indices[std::size_t(begin)];
    members[std::size_t(aggregate)].insert(i);
    within = within && coarse.owner(aggregate) == fine.owner(i) && P.values[std::size_t(begin)] == 1;
  }
  CHECK(all);
  CHECK(within || coarse.n > fine.n / 3);  // of many that are left some may be of other ranks' rows, too
  bool in_order = true;
  for (std::size_t k = 0; k < members.size(); k++)
    in_order = in_order && !members[k].empty() && (k == 0 || *members[k - 1].begin() < *members[k].begin());
  CHECK(in_order);
}

}  // namespace

TEST("amg: aggregates are of a rank's rows, and coarse matrices what they add up to, symmetric bit by bit") {
  NOTE(fresh::said());
  fresh::Random random(841);
  const CsrMatrix solids = with_solids(random, poisson(17, 15, 19, 7, 1e3), 0.2);
  for (const CsrMatrix& A : {poisson(40, 31, 1, 7, 1e-3), solids, matrices::spd(random, 1500, 3, 40), layers(30, 30, 1e6)})
    for (int ranks : {1, 2, 5}) {
      NOTE(A.n, " rows on ", ranks, " ranks");
      const Partition partition = balance(A.view(), ranks);
      const std::vector<AggregatedLevel> levels = aggregated_levels(A.view(), partition);
      const AlgebraicLevels held(A.view(), partition);
      REQUIRE(held.count() == int(levels.size()) + 1);
      CHECK(levels.size() >= 2);
      CHECK(levels.back().A.n <= A.n / 8);
      for (int l = 0; l + 1 < held.count(); l++) {
        const AggregatedLevel& next = levels[std::size_t(l)];
        check_coarse(held.matrix(l), next.P, next.A);
        check_aggregates(held.matrix(l), next.P, held.partition(l), held.partition(l + 1));
        CHECK(same_bits(next.A.values, {held.matrix(l + 1).values, held.matrix(l + 1).values + next.A.values.size()}));
      }
    }
}

TEST("amg: aggregates are of one phase where phases differ a millionfold, and of four cells where all are alike") {
  constexpr i64 n = 32;
  for (double contrast : {1.0, 1e6}) {
    const CsrMatrix A = layers(n, n, contrast);
    const AggregatedLevel first = aggregated_levels(A.view(), balance(A.view(), 1)).front();
    CHECK(first.P.columns == n * n / 4);
    const MapMatrix R = transposed(first.P.view());
    bool alike = true;
    for (std::size_t k = 0; contrast > 1 && k < R.indices.size(); k++)
      if (k > 0 && first.P.indices[std::size_t(R.indices[k])] == first.P.indices[std::size_t(R.indices[k - 1])])
        alike = alike && R.indices[k] / n % 2 == R.indices[k - 1] / n % 2;
    CHECK(alike);
  }
}

TEST("amg: few iterations where every second line conducts a million times better, where mg takes many") {
  NOTE(fresh::said());
  fresh::Random random(842);
  const CsrMatrix A = layers(48, 48, 1e6);
  const auto b = random.normals(A.n);
  Options o = with();
  o.precond = "mg", o.grid = "48,48,1";
  const int of_grid = solve(A.view(), b, o).report.iterations;
  for (int ranks : {1, 2, 4})
    for (const char* cycle : {"v", "w"}) {
      o = with("cg", "host", ranks);
      o.cycle = cycle;
      const Solved s = solve(A.view(), b, o);
      NOTE("on ", ranks, " ranks, cycle ", cycle, ": ", s.report.iterations, " iterations, mg ", of_grid);
      CHECK(s.report.status == Status::converged);
      CHECK(relative_residual(A, s.x, b) <= 1e-8);
      CHECK(s.report.iterations <= 30);
      CHECK(s.report.iterations < of_grid);
    }
}

TEST("amg: every method that takes any preconditioner, with the same bits on host and model in any order of messages") {
  NOTE(fresh::said());
  fresh::Random random(843);
  const CsrMatrix A = with_solids(random, poisson(9, 8, 12, 7, 100), 0.1);
  const auto b = random.normals(A.n);
  for (auto& m : methods()) {
    if (m.complex == Factors::of_numbers) continue;
    NOTE(m.name);
    if (!m.any_preconditioner) {
      CHECK_THROWS(solve(A.view(), b, with(m.name)), Error, "takes no preconditioner but a diagonal");
      continue;
    }
    for (int ranks : {1, 2, 3}) {
      Options o = with(m.name, "host", ranks);
      o.cycle = ranks == 2 ? "w" : "v";
      const Solved host = solve(A.view(), b, o);
      CHECK(host.report.status == Status::converged);
      CHECK(relative_residual(A, host.x, b) <= 1e-8);
      o.engine = "model";
      for (o.seed = 0; o.seed < 3; o.seed++) CHECK(solve(A.view(), b, o).x == host.x);
    }
  }
}

TEST("amg: rows in any order are solved on any number of ranks, and keep theirs with new values") {
  NOTE(fresh::said());
  fresh::Random random(850);
  const CsrMatrix A = shuffled(random, poisson(24, 24, 24, 7, 100));
  const auto b = random.normals(A.n);
  std::vector<double> tenfold = A.values;
  for (double& v : tenfold) v *= 10;
  for (int ranks : {1, 2, 5}) {
    Solver solver(A.view(), with("cg", "host", ranks));
    const Solved s = solve(solver, b);
    NOTE(s.report.iterations, " iterations on ", ranks, " ranks");
    CHECK(s.report.status == Status::converged);
    CHECK(relative_residual(A, s.x, b) <= 1e-8);
    CHECK(s.report.iterations <= 30);
    solver.update_values(tenfold.data());
    CHECK(std::abs(solve(solver, b).report.iterations - s.report.iterations) <= 1);
  }
}

TEST("amg: awkward matrices, solids and parts that nothing holds are solved") {
  NOTE(fresh::said());
  fresh::Random random(844);
  std::vector<Case> cases;
  for (Case& p : all(random))
    if (p.spd) cases.push_back(std::move(p));
  cases.push_back(problem(random, "one row", poisson(1, 1, 1, 7, 1), true));
  cases.push_back(problem(random, "a line", poisson(3000, 1, 1, 7, 1), true));
  cases.push_back(problem(random, "solids", with_solids(random, poisson(20, 20, 9, 7, 1e3), 0.3), true));
  CsrMatrix step = poisson(20, 20, 10, 7, 1);
  for (i64 i = 0; i < step.n; i++)
    if (i % 70 >= 20) step.values = with_diagonal(step, i, 1000);
  cases.push_back(problem(random, "rows that their diagonals hold, and others", std::move(step), true));
  cases.push_back(problem(random, "nearly all solid", with_solids(random, poisson(30, 100, 1, 7, 1), 0.9), true));
  Case pocket = problem(random, "a pocket", with_pocket(poisson(20, 20, 5, 7, 1), 1031), true);
  pocket.b[1032] = -pocket.b[1031];
  cases.push_back(std::move(pocket));
  for (const Case& p : cases)
    for (int ranks : {1, 2, 3}) {
      if (ranks > p.A.n) continue;
      const Solved s = solve(p.A.view(), p.b, with("cg", "host", ranks));
      NOTE(p.name, " on ", ranks, " ranks: ", s.report.iterations, " iterations");
      CHECK(s.report.status == Status::converged);
      CHECK(relative_residual(p.A, s.x, p.b) <= 1e-8);
    }
}

TEST("amg: what stands on the diagonal of solids is nothing to the fluid beside them") {
  NOTE(fresh::said());
  int iterations[2] = {};
  for (bool large : {false, true}) {
    fresh::Random random(845);  // the same solids
    const CsrMatrix A = with_solids(random, poisson(24, 24, 12, 7, 1), 0.1, large ? 1e6 : 1);
    auto b = random.normals(A.n);
    for (i64 i = 0; i < A.n; i++)
      if (A.values[std::size_t(A.indptr[std::size_t(i)])] == 0) b[std::size_t(i)] = 0;  // nothing within the solids
    iterations[large] = solve(A.view(), b, with()).report.iterations;
  }
  NOTE(iterations[0], " and ", iterations[1], " iterations");
  CHECK(std::abs(iterations[0] - iterations[1]) <= 1);
}

TEST("amg: an application adds no sum, and its transfers send nothing") {
  const CsrMatrix A = poisson(16, 16, 16, 7, 1);
  const std::vector<double> b(std::size_t(A.n), 1.0);
  for (int ranks : {1, 2}) {
    Options polynomial = with("cg", "host", ranks);
    polynomial.precond = "chebyshev";
    const Report of_polynomial = solve(A.view(), b, polynomial).report,
                 of_levels = solve(A.view(), b, with("cg", "host", ranks)).report;
    auto beside_iterations = [](const Report& r) { return r.ledger.reductions - 2 * r.iterations; };
    CHECK(beside_iterations(of_levels) == beside_iterations(of_polynomial));
    CHECK((of_levels.ledger.messages > 0) == (ranks > 1));
  }
  const Partition two = balance(A.view(), 2);
  for (const AggregatedLevel& level : aggregated_levels(A.view(), two))
    if (level.P.rows == A.n)
      for (int rank : {0, 1})
        CHECK(CsrMap::ghosts_of(level.P.view(), two, AlgebraicLevels(A.view(), two).partition(1), rank) == 0);
}

TEST("amg: M is symmetric and positive") {
  NOTE(fresh::said());
  fresh::Random random(846);
  for (const CsrMatrix& of : {poisson(12, 10, 9, 7, 50), poisson(3, 3, 3, 7, 1), poisson(40, 1, 1, 7, 1), layers(20, 20, 1e3)})
    for (int ranks : {1, 3})
      for (Cycle cycle : {Cycle::v, Cycle::w}) {
        NOTE(of.n, " rows, ", ranks, " ranks, ", cycle == Cycle::w ? "w" : "v");
        const CsrMatrix A = with_solids(random, of, 0.1);
        const auto levels = std::make_shared<AlgebraicLevels>(A.view(), balance(A.view(), ranks));
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        CHECK(is_symmetric_and_positive(given, applied(A, given, levels, cycle)));
      }
}

TEST("amg: new values make coarse matrices anew along the aggregates, and refused ones leave the old") {
  NOTE(fresh::said());
  fresh::Random random(847);
  const CsrMatrix first = poisson(10, 9, 16, 7, 10);
  CsrMatrix eightfold = first;
  for (double& v : eightfold.values) v *= 8;  // exactly: the same pairs, in other numbers
  const CsrMatrix others = with_solids(random, poisson(10, 9, 16, 7, 500), 0.1);
  const auto b = random.normals(first.n);
  for (int ranks : {1, 2}) {
    Solver solver(first.view(), with("cg", "host", ranks));
    const Solved before = solve(solver, b);
    CHECK_THROWS(solver.update_values(with_diagonal(first, 40, -1).data()), Error,
                 "precond amg needs a symmetric positive definite matrix, and the diagonal of row 40 is not positive");
    CHECK(solve(solver, b).x == before.x);
    solver.update_values(eightfold.values.data());
    CHECK(solve(solver, b).x == solve(eightfold.view(), b, with("cg", "host", ranks)).x);
    solver.update_values(others.values.data());
    const Solved kept = solve(solver, b);
    NOTE(kept.report.iterations, " iterations along aggregates of other values");
    CHECK(kept.report.status == Status::converged);
    CHECK(kept.report.iterations <= 2 * solve(others.view(), b, with("cg", "host", ranks)).report.iterations);
    solver.update_values(first.values.data());
    CHECK(solve(solver, b).x == before.x);
  }
}

TEST("amg: singular systems with the constant vector as nullspace are solved") {
  NOTE(fresh::said());
  fresh::Random random(848);
  for (const CsrMatrix& A :
       {neumann(poisson(12, 16, 20, 7, 30)), neumann(poisson(6, 5, 1, 7, 1)), neumann(layers(40, 40, 1e6))}) {
    auto b = random.normals(A.n);
    double mean = 0;
    for (double v : b) mean += v / double(A.n);
    for (double& v : b) v -= mean;
    for (int ranks : {1, 2}) {
      Options o = with("cg", "host", ranks);
      o.nullspace = "constant";
      const Solved s = solve(A.view(), b, o);
      NOTE(A.n, " rows: ", s.report.iterations, " iterations");
      CHECK(s.report.status == Status::converged);
      CHECK(relative_residual(A, s.x, b) <= 1.01e-8);
      CHECK(s.report.iterations <= 30);
    }
  }
}

TEST("amg: memory is foretold") {
  const CsrMatrix A = poisson(16, 12, 20, 7, 5);
  for (int ranks : {1, 2, 3})
    for (const char* cycle : {"v", "w"}) {
      NOTE(ranks, " ranks, ", cycle);
      Options o = with("cg", "host", ranks);
      o.cycle = cycle;
      CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
    }
}

TEST("amg: what it is not for is refused with a sentence") {
  NOTE(fresh::said());
  fresh::Random random(849);
  const CsrMatrix A = poisson(8, 8, 8, 7, 1);
  auto refuses = [](const CsrMatrix& of, const Options& o, const char* sentence) {
    CHECK_THROWS(Solver(of.view(), o), Error, sentence);
  };
  refuses(matrices::nonsymmetric(random, 512, 3, 20), with("bicgstab"),
          "precond amg needs a symmetric positive definite matrix");
  Options o = with("cg", "host", 2);
  o.deterministic = "on";
  refuses(A, o, "the levels of precond amg depend on it");
  CsrMatrix negative = A;
  negative.values = with_diagonal(A, 77, -6);
  refuses(negative, with(), "the diagonal of row 77 is not positive");
  refuses(matrices::diagonal(random, 2500), with(),
          "on 1 rank ends with 2500 of them, more than 2048, which are inverted: use precond");
  refuses(poisson(64, 2, 1, 7, 1), with("gropp", "host", 200), "more ranks (200) than rows (128)");
  CsrMatrix complex{A.n, A.indptr, A.indices, std::vector<double>(2 * A.values.size(), 0.0), 2};
  for (std::size_t k = 0; k < A.values.size(); k++) complex.values[2 * k] = A.values[k];
  refuses(complex, with(), "precond amg is for real matrices: use jacobi or none");
}
