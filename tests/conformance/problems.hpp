// Problems that every registered method must solve, and what one solve says.
#pragma once
#include <bit>
#include <string>
#include <vector>

#include "sordino/api/solver.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/solvers/registry.hpp"
#include "unit/linalg/matrices.hpp"

namespace problems {

using namespace sordino;

struct Case {
  std::string name;
  CsrMatrix A;
  bool spd;
  std::vector<double> b, x0;
};

inline Case problem(fresh::Random& random, std::string name, CsrMatrix A, bool spd) {
  i64 n = A.n;
  return {std::move(name), std::move(A), spd, random.normals(n), random.normals(n)};
}

/// Small and awkward: fewer rows than blocks, as many as ranks, no halo, dense rows, large contrasts.
inline std::vector<Case> all(fresh::Random& random) {
  std::vector<Case> p;
  auto add = [&](std::string name, CsrMatrix A, bool spd) { p.push_back(problem(random, std::move(name), std::move(A), spd)); };
  i64 n = random.whole(200, 700), m = random.whole(1500, 2500);
  add("spd", matrices::spd(random, n, 3, n), true);
  add("spd, banded", matrices::spd(random, m, 3, 20, 100), true);
  add("spd, 7 rows", matrices::spd(random, 7, 2, 7), true);
  add("diagonal", matrices::diagonal(random, n), true);
  add("poisson 7, contrast 1e3", poisson(random.whole(5, 9), random.whole(5, 9), random.whole(5, 9), 7, 1e3), true);
  add("poisson 27, contrast 1e-3", poisson(random.whole(5, 9), random.whole(5, 9), random.whole(5, 9), 27, 1e-3), true);
  add("nonsymmetric", matrices::nonsymmetric(random, n, 3, n), false);
  add("nonsymmetric, banded", matrices::nonsymmetric(random, m, 4, 15), false);
  add("nonsymmetric, dense rows", matrices::dominant(random, matrices::arrows(random, n), 0.1, 2), false);
  return p;
}

/// Rows of differences only: what the matrix is with zero flux through the boundary.
inline CsrMatrix neumann(CsrMatrix A) {
  for (i64 i = 0; i < A.n; i++) {
    double sum = 0;
    i64 diagonal = -1;
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) A.indices[k] == i ? void(diagonal = k) : void(sum -= A.values[k]);
    A.values[diagonal] = sum;
  }
  return A;
}

/// A stationary iteration needs a preconditioner that is near enough; of matrices with a dominant diagonal that is one.
inline bool gets_on(const MethodEntry& method, const std::string& precond) {
  return method.name != "richardson" || precond != "none";
}

inline bool takes(const MethodEntry& method, const Case& problem) {
  const bool too_slow = method.name == "richardson" && problem.name.starts_with("poisson");  // by Jacobi, at these contrasts
  return (problem.spd || !method.needs_spd) && !too_slow;
}

inline Options options(const std::string& method, const std::string& engine, int ranks) {
  Options o;
  o.solver = method;
  o.engine = engine;
  o.ranks = ranks;
  o.rtol = 1e-8;
  o.timeout = 30;
  return o;
}

struct Solved {
  Report report;
  std::vector<double> x;
};

inline Solved solve(Solver& solver, const std::vector<double>& b, const double* x0 = nullptr,
                    const ProgressCallback& progress = {}) {
  Solved s;
  s.x.resize(b.size(), NAN);
  s.report = solver.solve(b.data(), s.x.data(), x0, progress);
  return s;
}

inline Solved solve(const CsrView& A, const std::vector<double>& b, const Options& o, const double* x0 = nullptr) {
  Solver solver(A, o);
  return solve(solver, b, x0);
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double s, double t) { return std::bit_cast<u64>(s) == std::bit_cast<u64>(t); });
}

/// What rounding may add to a residual that was recomputed in double.
inline double rounding(const CsrView& A, const std::vector<double>& x, const std::vector<double>& b) {
  auto e = matrices::exact_product(A, x);
  long double s = 0;
  i64 longest = 0;
  for (std::size_t i = 0; i < b.size(); i++) {
    longest = std::max(longest, A.indptr[i + 1] - A.indptr[i]);
    s += (e.size[i] + std::abs(b[i])) * (e.size[i] + std::abs(b[i]));
  }
  return double(std::sqrt(s)) * double(longest + 2) * 0x1p-53;
}

}  // namespace problems
