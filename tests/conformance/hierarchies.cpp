// Hierarchies of algebraic multigrid that the caller brings: the same M on any number of ranks, with the same bits on host and
// model in any order of messages; that M is symmetric and positive; new values; memory; what is refused.
#include <cmath>
#include <map>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace cycles;
using namespace problems;

namespace {

/// Linear interpolation from every other one of nx x ny points, whose rows are scattered by `stride`, as aggregates' are in no
/// order of the rows.
MapMatrix interpolation(i64 nx, i64 ny, i64 stride) {
  const i64 cx = (nx + 1) / 2, cy = (ny + 1) / 2, coarse = cx * cy;
  MapMatrix P{.rows = nx * ny, .columns = coarse, .indptr = {0}};
  for (i64 y = 0; y < ny; y++)
    for (i64 x = 0; x < nx; x++) {
      std::map<i32, double> row;
      for (i64 dx = 0; dx <= x % 2; dx++)
        for (i64 dy = 0; dy <= y % 2; dy++)
          if (x / 2 + dx < cx && y / 2 + dy < cy)
            row[i32((x / 2 + dx + cx * (y / 2 + dy)) * stride % coarse)] += 1.0 / double((1 + x % 2) * (1 + y % 2));
      for (auto [column, value] : row) P.indices.push_back(column), P.values.push_back(value);
      P.indptr.push_back(i64(P.indices.size()));
    }
  return P;
}

/// P^T A P by its definition.
CsrMatrix galerkin(const CsrView& A, const MapView& P) {
  std::vector<std::map<i32, double>> rows(static_cast<std::size_t>(P.columns));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
      for (i64 p = P.indptr[i]; p < P.indptr[i + 1]; p++)
        for (i64 q = P.indptr[A.indices[k]]; q < P.indptr[A.indices[k] + 1]; q++)
          rows[std::size_t(P.indices[p])][P.indices[q]] += P.values[p] * A.values[k] * P.values[q];
  CsrMatrix to;
  to.n = P.columns;
  to.indptr = {0};
  for (auto& row : rows) {
    for (auto [column, value] : row) to.indices.push_back(column), to.values.push_back(value);
    to.indptr.push_back(i64(to.indices.size()));
  }
  return to;
}

System with(const CsrMatrix& A, std::vector<GivenLevel> levels) {
  System s;
  s.A = A.view();
  s.hierarchy = std::make_shared<const std::vector<GivenLevel>>(std::move(levels));
  return s;
}

/// A plane's matrix and what is below it.
struct Brought {
  CsrMatrix A;
  std::vector<MapMatrix> P;
  std::vector<CsrMatrix> below;

  Brought(i64 nx, i64 ny, double contrast, int levels) : A(poisson(nx, ny, 1, 7, contrast)) {
    for (int l = 1; l < levels; l++) {
      // Points of the second interpolation are in the order of the first one's only where that scatters none.
      P.push_back(interpolation(nx, ny, levels == 2 ? 7 : 1));
      below.push_back(galerkin(l == 1 ? A.view() : below.back().view(), P.back().view()));
      nx = (nx + 1) / 2, ny = (ny + 1) / 2;
    }
  }
  std::vector<GivenLevel> levels() const {
    std::vector<GivenLevel> all;
    for (std::size_t l = 0; l < P.size(); l++) all.push_back({P[l].view(), below[l].view()});
    return all;
  }
  System system() const { return with(A, levels()); }
};

Options on(const std::string& engine, int ranks, const std::string& method = "cg", const std::string& cycle = "v") {
  Options o = options(method, engine, ranks);
  o.cycle = cycle;
  return o;
}

Solved solve(const System& system, const std::vector<double>& b, const Options& o) {
  Solver solver(system, o);
  return problems::solve(solver, b);
}

}  // namespace

TEST("hierarchy: M is symmetric and positive, and the same on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(831);
  for (int count : {1, 2, 3, 4})
    for (Cycle cycle : {Cycle::v, Cycle::w}) {
      const Brought m(count == 1 ? 9 : 33, count == 1 ? 7 : 26, 30, count);
      const std::vector<std::vector<double>> given{random.normals(m.A.n), random.normals(m.A.n)};
      auto on_ranks = [&](int ranks) {
        const auto levels = std::make_shared<AlgebraicLevels>(m.A.view(), m.levels(), balance(m.A.view(), ranks));
        return applied(m.A, given, levels, cycle);
      };
      const auto one = on_ranks(1);
      for (int ranks : {1, 2, 3, 4}) {
        NOTE(count, " levels on ", ranks, " ranks, ", cycle == Cycle::w ? "w" : "v");
        const auto z = on_ranks(ranks);
        CHECK(is_symmetric_and_positive(given, z));
        double off = 0;
        for (std::size_t i = 0; i < z[0].size(); i++) off = std::max(off, std::abs(z[0][i] - one[0][i]));
        CHECK(off <= 1e-12 * std::sqrt(dot(one[0], one[0])));
      }
    }
}

TEST("hierarchy: few iterations, whatever the size and the ranks") {
  NOTE(fresh::said());
  fresh::Random random(832);
  for (i64 n : {24, 48, 96}) {
    const Brought m(n, n, 1, n == 24 ? 2 : n == 48 ? 3 : 4);
    const auto b = random.normals(m.A.n);
    for (int ranks : {1, 2, 4})
      for (const char* cycle : {"v", "f", "w"}) {
        const Solved s = solve(m.system(), b, on("host", ranks, "fcg", cycle));
        NOTE(n, "^2 on ", ranks, " ranks, cycle ", cycle, ": ", s.report.iterations, " iterations");
        CHECK(s.report.status == Status::converged);
        CHECK(s.report.iterations <= 9);
      }
  }
}

TEST("hierarchy: every method that takes any preconditioner, with the same bits on host and model in any order of messages") {
  NOTE(fresh::said());
  fresh::Random random(833);
  const Brought m(30, 17, 100, 3), scattered(30, 17, 100, 2);
  const auto b = random.normals(m.A.n);
  for (auto& method : methods()) {
    if (method.complex == Factors::of_numbers) continue;
    NOTE(method.name);
    if (!method.any_preconditioner) {
      CHECK_THROWS(solve(m.system(), b, on("host", 1, method.name)), Error, "takes no preconditioner but a diagonal");
      continue;
    }
    for (const Brought* brought : {&m, &scattered})
      for (int ranks : {1, 2, 3, 4}) {
        NOTE(ranks, " ranks");
        const std::string cycle = ranks % 2 == 0 ? "w" : "v";
        const Solved host = solve(brought->system(), b, on("host", ranks, method.name, cycle));
        CHECK(host.report.status == Status::converged);
        for (int seed : {0, 1, 2}) {
          Options o = on("model", ranks, method.name, cycle);
          o.seed = seed;
          CHECK(solve(brought->system(), b, o).x == host.x);
        }
      }
  }
}

TEST("hierarchy: an application adds no sum") {
  const Brought m(24, 24, 1, 3);
  const std::vector<double> b(std::size_t(m.A.n), 1.0);
  for (int ranks : {1, 2}) {
    Options polynomial = on("host", ranks);
    polynomial.precond = "chebyshev";
    const Report of_polynomial = problems::solve(m.A.view(), b, polynomial).report,
                 of_levels = solve(m.system(), b, on("host", ranks)).report;
    auto beside_iterations = [](const Report& r) { return r.ledger.reductions - 2 * r.iterations; };
    CHECK(beside_iterations(of_levels) == beside_iterations(of_polynomial));
    CHECK((of_levels.ledger.messages > 0) == (ranks > 1));
  }
}

TEST("hierarchy: levels with fewer rows than ranks, or below few rows, are left out") {
  const Brought m(40, 40, 1, 6);  // 1600, 400, 100, 25, 9, 4 rows
  for (int ranks : {1, 4}) CHECK(AlgebraicLevels(m.A.view(), m.levels(), balance(m.A.view(), ranks)).count() == 4);
  CHECK(AlgebraicLevels(m.A.view(), m.levels(), balance(m.A.view(), 30)).count() == 3);
}

TEST("hierarchy: new values smooth the first level anew, and refused ones leave the old") {
  NOTE(fresh::said());
  fresh::Random random(834);
  for (int count : {1, 3})
    for (int ranks : {1, 3}) {
      const Brought m(count == 1 ? 8 : 30, 8, 3, count);
      const auto b = random.normals(m.A.n);
      std::vector<double> tenfold = m.A.values;
      for (double& v : tenfold) v *= 10;
      Solver solver(m.system(), on("host", ranks));
      const Solved before = problems::solve(solver, b);
      CHECK_THROWS(solver.update_values(with_diagonal(m.A, 20, -1).data()), Error, "the diagonal of row 20 is not positive");
      CHECK(problems::solve(solver, b).x == before.x);
      solver.update_values(tenfold.data());
      CHECK(problems::solve(solver, b).report.status == Status::converged);
      solver.update_values(m.A.values.data());
      CHECK(problems::solve(solver, b).x == before.x);
    }
}

TEST("hierarchy: memory is foretold") {
  const Brought m(40, 21, 5, 3);
  for (int ranks : {1, 2, 3})
    for (const char* cycle : {"v", "f", "w"}) {
      NOTE(ranks, " ranks, ", cycle);
      const Options o = on("host", ranks, "fcg", cycle);
      CHECK(estimate_memory(m.system(), o, ranks, false) == Solver(m.system(), o).memory());
    }
}

TEST("hierarchy: what cannot be used is refused with a sentence") {
  NOTE(fresh::said());
  fresh::Random random(835);
  const Brought m(24, 24, 1, 3);
  auto refuses = [](const System& s, const Options& o, const char* sentence) { CHECK_THROWS(Solver(s, o), Error, sentence); };
  refuses(with(m.A, {m.levels()[1], m.levels()[0]}), on("host", 1),
          "the P of level 0 of the hierarchy is 144 x 36, and between 576 and 36 rows: the levels do not chain");
  Brought nan = m;
  nan.P[1].values[3] = std::nan("");
  refuses(nan.system(), on("host", 1), "the P of level 1 of the hierarchy holds a NaN or Inf in column");
  nan = m;
  nan.below[0].values[3] = std::nan("");
  refuses(nan.system(), on("host", 1), "level 1 of the hierarchy: the matrix holds a NaN or Inf at row 0");
  Brought bent = m;
  bent.below[1].values[1] *= 1.001;
  refuses(bent.system(), on("host", 1), "level 2 of the hierarchy is not symmetric: row 0 and column 1");
  Brought negative = m;
  for (double& v : negative.below[1].values) v = -v;
  refuses(negative.system(), on("host", 1), "the diagonal of row 0 is not positive");
  Brought outside = m;
  outside.P[0].indices[0] = 144;
  refuses(outside.system(), on("host", 1), "the P of level 0 of the hierarchy: column index 144 in row 0 is out of range");
  const CsrMatrix general = matrices::nonsymmetric(random, 60, 3, 20);
  refuses(with(general, {}), on("host", 1, "bicgstab"), "is not symmetric");
  const CsrMatrix large = poisson(50, 50, 1, 7, 1);
  refuses(with(large, {}), on("host", 1), "the last level of the hierarchy has 2500 rows, more than 2048, which are inverted");
  Options o = on("host", 2);
  o.deterministic = "on";
  refuses(m.system(), o, "the levels of a hierarchy depend on it");
  o = on("host", 1);
  o.precond = "jacobi";
  refuses(m.system(), o, "a preconditioner of the caller's is given, too");
}
