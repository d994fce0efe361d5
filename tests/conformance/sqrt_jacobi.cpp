// Precond sqrt-jacobi with every method that takes it: what it promises is of the caller's system, and iterations are Jacobi's.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/api/rows_solver.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

Options with(const char* precond, const std::string& method, int ranks = 1, const std::string& storage = "auto") {
  Options o = options(method, "host", ranks);
  o.precond = precond;
  o.storage = storage;
  return o;
}
Options scaled(const std::string& method, int ranks = 1, const std::string& storage = "auto") {
  return with("sqrt-jacobi", method, ranks, storage);
}

/// The reported residual is that of b - A x, and what is said of it is true.
void check_honest(const CsrView& A, const std::vector<double>& b, const Solved& s, const Options& o) {
  const Report& r = s.report;
  NOTE(name(r.status), ": ", r.reason);
  double exact = matrices::exact_residual(A, b, s.x), slack = 4 * rounding(A, s.x, b), b_norm = matrices::norm(b);
  CHECK_NEAR(r.residual_norm, exact, slack + 1e-10 * exact);
  CHECK_NEAR(r.true_residual, exact / b_norm, (slack + 1e-10 * exact) / b_norm);
  if (r.status == Status::converged) CHECK(exact <= std::max(o.rtol * b_norm, o.atol) * (1 + 1e-12) + slack);
}

}  // namespace

TEST("sqrt-jacobi: iterations and verified residuals are those of jacobi, for every method and storage") {
  NOTE(fresh::said());
  fresh::Random random(420);
  for (double contrast : {1.0, 1e4}) {
    CsrMatrix A = poisson(11, 9, 12, 7, contrast);
    auto b = random.normals(A.n);
    for (auto& m : methods()) {
      if (!m.scalable || m.name == "richardson") continue;  // which is too slow at these contrasts
      Solver wanted(A.view(), with("jacobi", m.name));
      Solved jacobi = solve(wanted, b);
      REQUIRE(jacobi.report.status == Status::converged);
      // Where norms swing, Jacobi's loop may end in a dip between two looks. Of bicgstab the iterates are others.
      const int round = wanted.steps(), half = jacobi.report.iterations / 2;
      const int sooner = m.needs_spd ? 0 : half, later = !m.needs_spd ? half : contrast == 1 ? 0 : half / 5;
      for (const char* storage : {"csr", "dia", "symdia", "constant"}) {
        if (storage == std::string("constant") && contrast > 1) continue;
        NOTE(m.name, ", contrast ", contrast, ", ", storage);
        Options o = scaled(m.name, 1, storage);
        Solved s = solve(A.view(), b, o);
        REQUIRE(s.report.status == Status::converged);
        CHECK(s.report.iterations >= jacobi.report.iterations - round - sooner);
        CHECK(s.report.iterations <= jacobi.report.iterations + round + later);
        CHECK(int(s.report.history.size()) == s.report.iterations);
        check_honest(A.view(), b, s, o);
      }
    }
  }
}

TEST("sqrt-jacobi: of a right-hand side without noise the iteration that ends is Jacobi's, or next to it") {
  for (double contrast : {1.0, 1e4}) {
    CsrMatrix A = poisson(16, 16, 16, 7, contrast);
    std::vector<double> b(std::size_t(A.n), 1.0);
    for (double rtol : {1e-5, 1e-8}) {
      Options jacobi = with("jacobi", "cg"), o = scaled("cg");
      jacobi.rtol = o.rtol = rtol;
      NOTE("contrast ", contrast, ", rtol ", rtol);
      int wanted = solve(A.view(), b, jacobi).report.iterations;
      CHECK_NEAR(double(solve(A.view(), b, o).report.iterations), double(wanted), 1);
      for (int s : {2, 5, 12}) {
        NOTE("s = ", s);
        jacobi.solver = o.solver = "cbcg", jacobi.s = o.s = s;
        wanted = solve(A.view(), b, jacobi).report.iterations;
        CHECK_NEAR(double(solve(A.view(), b, o).report.iterations), double(wanted), s);
      }
      jacobi.solver = o.solver = "cg";
    }
  }
}

TEST("sqrt-jacobi: the same bits on 1 to 4 ranks, on host and model, by rows and by diagonals") {
  NOTE(fresh::said());
  fresh::Random random(421);
  CsrMatrix A = poisson(9, 8, 14, 7, 1e3);
  auto b = random.normals(A.n);
  for (auto& m : methods()) {
    if (!m.scalable || m.name == "richardson") continue;
    Solved first = solve(A.view(), b, scaled(m.name));
    REQUIRE(first.report.status == Status::converged);
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 2, 3, 4})
        for (const char* storage : {"csr", "symdia"}) {
          NOTE(m.name, " on ", engine, ", ", ranks, " ranks, ", storage);
          Options o = scaled(m.name, ranks, storage);
          o.engine = engine;
          Solved s = solve(A.view(), b, o);
          CHECK(s.report.iterations == first.report.iterations);
          CHECK(s.x == first.x);
        }
  }
}

TEST("sqrt-jacobi: the history is of the caller's residual, and callbacks see the caller's x") {
  NOTE(fresh::said());
  fresh::Random random(422);
  CsrMatrix A = poisson(8, 9, 10, 7, 1e4);
  auto b = random.normals(A.n);
  for (const char* method : {"cg", "prcg", "pcg2", "cbcg"})
    for (int asked : {1, 5}) {
      Options o = scaled(method, 2);
      o.s = 3;
      const int every = method == std::string("cbcg") ? rounds(asked, *o.s) * *o.s : asked;
      NOTE(method, ", every ", every);
      std::vector<int> seen;
      double last = 0;
      System system{.A = A.view()};
      system.watch = {asked, true, [&](int iteration, double, const double* x) {
                        seen.push_back(iteration);
                        last = matrices::exact_residual(A.view(), b, std::vector<double>(x, x + A.n)) / matrices::norm(b);
                      }};
      Solver solver(system, o);
      Solved s = solve(solver, b);
      REQUIRE(s.report.status == Status::converged);
      for (std::size_t k = 0; k < seen.size(); k++) CHECK(seen[k] == int(k + 1) * every);
      CHECK(int(seen.size()) == s.report.iterations / every);
      CHECK(last < (every == 1 ? 1e-8 * (1 + 1e-6) : 1e-6));
      CHECK_NEAR(s.report.history.back(), s.report.true_residual, 1e-3 * s.report.true_residual);
    }
}

TEST("sqrt-jacobi: an iteration of cg reads no preconditioner and no diagonal") {
  CsrMatrix A = poisson(16, 16, 16, 7, 10);
  std::vector<double> b(std::size_t(A.n), 1.0);
  auto bytes_a_row = [&](const char* precond) {
    auto spent = [&](int iterations) {
      Options o = with(precond, "cg", 1, "symdia");
      o.rtol = 1e-300;
      o.maxiter = iterations;
      o.check_every = 1000000;
      return solve(A.view(), b, o).report.ledger;
    };
    // Of a scaled system both solves look equally often.
    Ledger more = difference(spent(24), spent(20));
    return double(more.memory_bytes) / 4 / double(A.n);
  };
  const double jacobi = bytes_a_row("jacobi"), sqrt_jacobi = bytes_a_row("sqrt-jacobi");
  NOTE("jacobi ", jacobi, ", sqrt-jacobi ", sqrt_jacobi);
  CHECK_NEAR(jacobi - sqrt_jacobi, 24, 0.1);  // 1 / diag(A) twice, and the main diagonal
}

TEST("sqrt-jacobi: a look is one pass over the residual and the roots, and takes no product") {
  CsrMatrix A = poisson(12, 12, 12, 7, 1e4);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (auto& m : methods()) {
    if (!m.scalable) continue;
    NOTE(m.name);
    auto kernels = [&](const char* precond) {
      Options o = with(precond, m.name);
      o.rtol = 1e-300;
      o.maxiter = 24;
      o.time_commands = true;
      return solve(A.view(), b, o).report.ledger.kernels;
    };
    auto jacobi = kernels("jacobi"), sqrt_jacobi = kernels("sqrt-jacobi");
    const auto& looks = sqrt_jacobi["NormsOfBoth"];
    CHECK(looks.calls > 1);
    CHECK(looks.calls < 12);
    CHECK(looks.bytes == double(looks.calls) * 16 * double(A.n));
    for (const char* product : {"SpMV", "SpMV pair"}) CHECK(sqrt_jacobi[product].calls == jacobi[product].calls);
  }
}

TEST("sqrt-jacobi: the best x is kept at looks, where stretches are shorter than what lies between two checks") {
  CsrMatrix A = poisson(12, 12, 12, 7, 1e4);
  Options o = scaled("cg");
  o.time_commands = true;
  for (int check_every : {4, 1000000}) {
    o.check_every = check_every;
    auto kernels = solve(A.view(), std::vector<double>(std::size_t(A.n), 1.0), o).report.ledger.kernels;
    CHECK((kernels["Scaled"].calls > 1) == (check_every == 4));  // the first x is kept in any case
  }
}

TEST("sqrt-jacobi: what is said when the tolerance cannot be met, or iterations end, is true of the caller's x") {
  NOTE(fresh::said());
  fresh::Random random(423);
  for (auto& p : all(random)) {
    for (auto& m : methods()) {
      if (!m.scalable || !takes(m, p)) continue;
      for (int ranks : {1, 3}) {
        if (ranks > p.A.n) continue;
        Options o = scaled(m.name, ranks);
        for (double rtol : {1e-3, 1e-8, 1e-15, 1e-18}) {
          NOTE(m.name, ", ", p.name, ", ranks = ", ranks, ", rtol = ", rtol);
          o.rtol = rtol;
          o.maxiter = 600;
          Solved s = solve(p.A.view(), p.b, o, p.x0.data());
          check_honest(p.A.view(), p.b, s, o);
          if (rtol > 1e-9 && p.spd) CHECK(s.report.status == Status::converged);
        }
        o.rtol = 1e-12;
        for (int most : {1, 2, 3}) {
          NOTE(m.name, ", ", p.name, ", maxiter = ", most);
          o.maxiter = most;
          Solved s = solve(p.A.view(), p.b, o);
          CHECK(s.report.iterations <= most);
          check_honest(p.A.view(), p.b, s, o);
        }
      }
    }
  }
}

TEST("sqrt-jacobi: indefinite matrices are noticed; b = 0, and an x0 that solves, need no iteration") {
  NOTE(fresh::said());
  fresh::Random random(424);
  CsrMatrix A = poisson(7, 7, 7, 7, 100), indefinite = A;
  auto rows = matrices::rows(indefinite);
  for (i32 i = 0; i < A.n; i++) rows[std::size_t(i)][i] *= 0.3;
  indefinite = matrices::csr(rows);
  auto b = random.normals(A.n), x0 = random.normals(A.n);
  Options o = scaled("cg", 2);
  Solved bad = solve(indefinite.view(), b, o);
  CHECK((bad.report.status == Status::indefinite || bad.report.status == Status::diverged));
  check_honest(indefinite.view(), b, bad, o);

  Solved zero = solve(A.view(), std::vector<double>(b.size()), o, x0.data());
  CHECK(zero.report.status == Status::converged);
  CHECK(zero.x == std::vector<double>(b.size()));
  for (std::size_t i = 0; i < b.size(); i++) b[i] = double(matrices::exact_product(A.view(), x0).y[i]);
  Solved known = solve(A.view(), b, o, x0.data());
  CHECK(known.report.iterations == 0);
  CHECK(known.x == x0);
}

TEST("sqrt-jacobi: new values, another right-hand side, and a warm start") {
  NOTE(fresh::said());
  fresh::Random random(425);
  CsrMatrix A = poisson(8, 7, 6, 7, 10), B = poisson(8, 7, 6, 7, 5000);
  auto b = random.normals(A.n), c = random.normals(A.n);
  for (const char* storage : {"csr", "dia", "symdia"}) {
    Options o = scaled("cg", 2, storage);
    Solver solver(A.view(), o);
    solve(solver, c);
    solver.update_values(B.values.data());
    Solved s = solve(solver, b);
    CHECK(s.x == solve(B.view(), b, o).x);
    check_honest(B.view(), b, s, o);
    Solved again = solve(solver, b, s.x.data());
    CHECK(again.report.iterations == 0);
    std::vector<double> near = s.x;
    for (double& v : near) v *= 1 + 1e-6 * random.normal();
    Solved warm = solve(solver, b, near.data());
    CHECK(warm.report.iterations < s.report.iterations);
    check_honest(B.view(), b, warm, o);
    CsrMatrix C = B;
    C.values[0] = -C.values[0];
    CHECK_THROWS(solver.update_values(C.values.data()), Error, "that of row 0 is not positive");
    CHECK(solve(solver, b).x == s.x);
  }
}

TEST("sqrt-jacobi: a singular system is solved in the range, orthogonal to what A maps to zero") {
  NOTE(fresh::said());
  fresh::Random random(426);
  CsrMatrix A = neumann(poisson(9, 8, 7, 7, 1e3));
  auto b = random.normals(A.n), x0 = random.normals(A.n);
  Options o = scaled("cg");
  o.nullspace = "constant";
  Options plain = o;
  plain.precond = "jacobi";
  Solved jacobi = solve(A.view(), b, plain);
  for (const char* method : {"cg", "cgcg", "pcg-overlap"})
    for (int ranks : {1, 3})
      for (const double* guess : {static_cast<const double*>(nullptr), static_cast<const double*>(x0.data())}) {
        NOTE(method, ", ranks = ", ranks, guess ? ", warm" : "");
        o.solver = method, o.ranks = ranks;
        Solved s = solve(A.view(), b, o, guess);
        REQUIRE(s.report.status == Status::converged);
        CHECK_NEAR(s.report.outside_norm, jacobi.report.outside_norm, 1e-12);
        long double sum = 0, mean = 0;
        for (double v : s.x) sum += v;
        CHECK(std::abs(double(sum)) < 1e-12 * matrices::norm(s.x) * std::sqrt(double(A.n)));
        for (double v : b) mean += v / (long double)(A.n);
        auto reached = b;
        for (double& v : reached) v -= double(mean);
        check_honest(A.view(), reached, s, o);
        if (!guess) CHECK(std::abs(s.report.iterations - jacobi.report.iterations) <= 1);
      }
}

TEST("sqrt-jacobi: rows that are alike before, and not when scaled, are refused where they are to be kept once") {
  NOTE(fresh::said());
  fresh::Random random(428);
  CsrMatrix alike = poisson(1500, 1, 1, 7, 1), others = alike;  // others: of 20 kinds, whose neighbours are of 20
  for (i64 i = 0; i < others.n; i++)
    for (i64 k = others.indptr[std::size_t(i)]; k < others.indptr[std::size_t(i) + 1]; k++)
      if (others.indices[std::size_t(k)] == i) others.values[std::size_t(k)] *= double(random.whole(1, 20));
  auto b = random.normals(alike.n);
  const Options o = scaled("cg", 2, "constant");
  CHECK(solve(others.view(), b, with("jacobi", "cg", 2, "constant")).report.status == Status::converged);
  CHECK_THROWS(Solver(others.view(), o), Error, "at most 256 different rows");
  Solver solver(alike.view(), o);
  const Solved before = solve(solver, b);
  CHECK_THROWS(solver.update_values(others.values.data()), Error, "at most 256 different rows");
  CHECK(solve(solver, b).x == before.x);
}

TEST("sqrt-jacobi: memory is as estimated") {
  CsrMatrix A = poisson(20, 20, 20, 7, 10);
  for (const char* storage : {"csr", "dia", "symdia"})
    for (int ranks : {1, 2, 4}) {
      Options o = scaled("cg", ranks, storage);
      Solver solver(A.view(), o);
      auto held = solver.memory(), estimated = estimate_memory({.A = A.view()}, o, ranks, false);
      for (std::size_t r = 0; r < held.size(); r++) CHECK_NEAR(double(held[r]), double(estimated[r]), 0.01 * double(held[r]));
    }
}

TEST("sqrt-jacobi: what cannot be scaled is refused in one sentence") {
  CsrMatrix A = poisson(4, 4, 4, 7, 1);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* method : {"pipebicgstab", "gatherbicgstab"})
    CHECK_THROWS(solve(A.view(), b, scaled(method)), Error, "does not take precond sqrt-jacobi");
  CHECK_THROWS(RowsSolver(A.view(), scaled("cg"), Accord(nullptr)), Error, "which nobody sees here: use jacobi");
  A.values[0] = -1;
  CHECK_THROWS(solve(A.view(), b, scaled("cg")), Error, "that of row 0 is not positive: use precond jacobi or none");
  CsrMatrix complex{.n = 1, .indptr = {0, 1}, .indices = {0}, .values = {1, 0}, .words = 2};
  CHECK_THROWS(solve(complex.view(), {1, 0}, scaled("cg")), Error, "precond sqrt-jacobi is for real matrices");
  System function{.product = [](const double* x, double* y) { *y = *x; }, .A = {.n = 1}};
  CHECK_THROWS(Solver(function, scaled("cg")), Error, "needs the entries of the matrix");
}

TEST("sqrt-jacobi: near what can be attained `converged` is true of the caller's residual in every digit") {
  CsrMatrix A = poisson(9, 8, 10, 7, 1e5);
  for (const char* method : {"cg", "bicgstab"}) {
    Options o = scaled(method);
    o.rtol = 3e-11;  // some eight roundings of A x
    Solver solver(A.view(), o);
    int converged = 0;
    for (int k = 1; k <= 40; k++) {
      std::vector<double> b;
      for (int i = 0; i < int(A.n); i++) b.push_back(std::sin(k * i + 0.1 * i * i));
      Solved s = solve(solver, b);
      NOTE(method, ", right-hand side ", k, ": ", s.report.reason);
      if (s.report.status != Status::converged) {
        CHECK(s.report.status == Status::stagnated);
        continue;
      }
      converged++;
      CHECK(matrices::exact_residual(A.view(), b, s.x) <= o.rtol * matrices::norm(b));
    }
    CHECK(converged >= 36);
  }
}
