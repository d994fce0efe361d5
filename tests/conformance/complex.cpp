// Every method that takes complex systems solves those it takes, verified, with the same bits on any number of ranks and on the
// model; what it does not take it refuses.
#include "check.hpp"
#include "complex_problems.hpp"
#include "sordino/api/symmetry.hpp"

using namespace complex_problems;
using problems::options, problems::same_bits, problems::solve, problems::Solved;

namespace {

void check_solution(const Case& p, const Solved& s, double rtol) {
  NOTE(s.report.reason);
  CHECK(s.report.status == Status::converged);
  double b_norm = matrices::norm(p.b);
  Residual exact = residual(p.A, p.b, s.x);
  CHECK(exact.norm <= rtol * b_norm * (1 + 1e-12) + exact.rounding);
  CHECK_NEAR(s.report.residual_norm, exact.norm, exact.rounding + 1e-12 * exact.norm);
  CHECK(s.report.iterations > 0);
}

/// 2 D^-1 - D^-1 A D^-1: two terms of Neumann's series, of A's symmetry.
CsrMatrix neumann(const CsrMatrix& A) {
  std::vector<Value> d(std::size_t(A.n));
  auto each = [&](auto visit) {
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        visit(std::size_t(i), std::size_t(A.indices[std::size_t(k)]), 2 * std::size_t(k));
  };
  each([&](std::size_t i, std::size_t j, std::size_t k) {
    if (i == j) d[i] = {A.values[k], A.values[k + 1]};
  });
  CsrMatrix M = A;
  each([&](std::size_t i, std::size_t j, std::size_t k) {
    Value m = i == j ? 1.0 / d[i] : -Value(A.values[k], A.values[k + 1]) / (d[i] * d[j]);
    M.values[k] = m.real();
    M.values[k + 1] = m.imag();
  });
  return M;
}

/// With M^-1 by its entries, or as a function that scales.
System with_operator(const Case& p, const CsrMatrix* inverse) {
  System s{.A = p.A.view()};
  if (inverse)
    s.inverse = inverse->view();
  else
    s.preconditioner = [n = p.b.size()](const double* x, double* y) {
      for (std::size_t i = 0; i < n; i++) y[i] = 0.5 * x[i];
    };
  return s;
}

}  // namespace

TEST("complex systems: every method solves what it takes, verified, with the same bits everywhere") {
  NOTE(fresh::said());
  fresh::Random random(300);
  for (auto& p : all(random))
    for (auto& m : methods())
      for (const char* precond : {"none", "jacobi"}) {
        if (!takes(m, p) || !problems::gets_on(m, precond)) continue;
        if (m.name == "richardson" && p.name == "Helmholtz") continue;  // whose diagonal is far from A
        NOTE(m.name, " with ", precond, " of ", p.name, ", n = ", p.A.n);
        Solved reference;
        for (const char* engine : {"host", "model"})
          for (int ranks : {1, 2, 3, 7}) {
            NOTE("engine ", engine, ", ranks = ", ranks);
            Options o = options(m.name, engine, ranks);
            o.precond = precond;
            Solver solver(p.A.view(), o);
            Solved s = solve(solver, p.b);
            check_solution(p, s, o.rtol);
            if (reference.x.empty()) reference = s;
            CHECK(same_bits(s.report.history, reference.report.history));
            CHECK(same_bits(s.x, reference.x));
            CHECK(same_bits(solve(solver, p.b).x, s.x));
            check_solution(p, solve(solver, p.b, p.x0.data()), o.rtol);
          }
      }
}

TEST("complex systems: auto finds the symmetry, and the method that goes with it") {
  NOTE(fresh::said());
  fresh::Random random(301);
  for (auto& p : all(random)) {
    NOTE(p.name);
    Solver solver(p.A.view(), options("auto", "host", 2));
    CHECK(solver.symmetry() == p.symmetry);
    CHECK(solver.method() == (p.symmetry == "hermitian" ? "cg" : p.symmetry == "symmetric" ? "cocg" : "bicgstab"));
    Options o = options("auto", "host", 2);
    o.symmetry = "general";
    CHECK(Solver(p.A.view(), o).method() == "bicgstab");
  }
}

TEST("complex systems: what a method does not take is refused with its reason") {
  NOTE(fresh::said());
  fresh::Random random(302);
  Case hermitian = problem(random, "", "", gauge_laplacian(random, 5, 5, 1)),
       symmetric = problem(random, "", "", helmholtz(5, 5, {0, 1})),
       neither = problem(random, "", "", general(random, 30, 3, 30));
  auto refused = [](const Case& p, const char* solver, const char* symmetry, const char* sentence) {
    NOTE(solver, ", ", symmetry);
    Options o = options(solver, "host", 1);
    o.symmetry = symmetry;
    CHECK_THROWS(Solver(p.A.view(), o), Error, sentence);
  };
  refused(symmetric, "cg", "auto", "solver cg needs a Hermitian matrix, and this one is complex symmetric: use cocg");
  refused(neither, "prcg", "auto", "neither Hermitian nor symmetric: use bicgstab");
  refused(hermitian, "cocg", "auto", "solver cocg needs a symmetric matrix (A^T = A), and this one is Hermitian: use cg");
  refused(hermitian, "cg", "general", "option symmetry says general");
  refused(symmetric, "auto", "hermitian", "symmetry is said to be hermitian, and the matrix is complex symmetric");
  refused(neither, "auto", "symmetric", "neither Hermitian nor symmetric");
  refused(hermitian, "pipebicgstab", "auto", "computes with real numbers, and the matrix is complex");
}

TEST("complex systems: an indefinite Hermitian matrix is reported by cg") {
  NOTE(fresh::said());
  fresh::Random random(303);
  Case p = problem(random, "", "", gauge_laplacian(random, 12, 12, -4.0));
  for (const char* solver : {"cg", "cgcg", "prcg"}) {
    NOTE(solver);
    CHECK(solve(p.A.view(), p.b, options(solver, "host", 2)).report.status == Status::indefinite);
  }
}

TEST("complex systems: operators as preconditioners, functions as matrices, and new values") {
  NOTE(fresh::said());
  fresh::Random random(304);
  for (auto& p : all(random)) {
    NOTE(p.name);
    CsrMatrix M = neumann(p.A);
    for (bool by_entries : {false, true}) {
      const char* method = p.symmetry == "hermitian" ? "cg" : p.symmetry == "symmetric" ? "cocg" : "bicgstab";
      Solved reference;
      for (int ranks : {1, 3}) {
        NOTE(by_entries ? "by entries" : "as a function", ", ranks = ", ranks);
        Options o = options(method, "host", ranks);
        Solver solver(with_operator(p, by_entries ? &M : nullptr), o);
        Solved s = solve(solver, p.b);
        check_solution(p, s, o.rtol);
        if (reference.x.empty()) reference = s;
        CHECK(same_bits(s.x, reference.x));
        Case doubled = p;
        for (double& v : doubled.A.values) v *= 2;
        if (by_entries) continue;
        solver.update_values(doubled.A.values.data());
        check_solution(doubled, solve(solver, p.b), o.rtol);
      }
    }
  }
}

TEST("complex systems: memory is as foretold") {
  NOTE(fresh::said());
  fresh::Random random(305);
  for (auto& p : all(random))
    for (auto& m : methods())
      for (int ranks : {1, 3}) {
        if (!takes(m, p)) continue;
        NOTE(m.name, " of ", p.name, ", ranks = ", ranks);
        Options o = options(m.name, "host", ranks);
        auto held = Solver(p.A.view(), o).memory(), said = estimate_memory({.A = p.A.view()}, o, ranks, false);
        CHECK(held.size() == said.size());
        for (std::size_t r = 0; r < held.size(); r++) CHECK_NEAR(double(said[r]), double(held[r]), 0.1 * double(held[r]));
      }
}
