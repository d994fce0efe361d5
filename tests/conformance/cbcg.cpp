// Solver cbcg: that it is conjugate gradients, s steps at a time, wherever those converge; what it costs; what its basis is
// for.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/solvers/gram.hpp"

using namespace problems;

namespace {

Options steps_of(int s, const char* engine = "host", int ranks = 1) {
  Options o = options("cbcg", engine, ranks);
  o.precond = "jacobi";
  o.s = s;
  return o;
}

Options classic_cg() {
  Options o = options("cg", "host", 1);
  o.precond = "jacobi";
  return o;
}

/// Of s iterations at once, on the first rank.
Ledger round_of(const CsrView& A, const std::vector<double>& b, Options o) {
  auto ledger = [&](int rounds) {
    o.rtol = 1e-300;
    o.maxiter = rounds * *o.s;
    o.check_every = 1000000;
    Solved s = solve(A, b, o);
    REQUIRE(s.report.status == Status::max_iterations);
    REQUIRE(s.report.iterations == o.maxiter);
    return s.report.ledger;
  };
  return difference(ledger(3), ledger(2));
}

bool says(const Solved& s, const std::string& words) { return s.report.reason.find(words) != std::string::npos; }

}  // namespace

// Rounding leaves the recurrences some kappa u |b| apart, however little is left of the residual; s vectors of a basis bring a
// kappa of their own. The limits, in u |b|, are ten times what the worst of 150 systems had.
TEST("cbcg: after k rounds of s steps the residual is that of cg after s k iterations, and stays between") {
  NOTE(fresh::said());
  fresh::Random random(520);
  CsrMatrix A = poisson(9, 10, 11, 7, 100);
  auto b = random.normals(A.n);
  Options further = classic_cg();
  further.rtol = 1e-11;
  const auto wanted = solve(A.view(), b, further).report.history;
  for (auto [s, in_u] : {std::pair{1, 400}, {2, 400}, {4, 600}, {8, 7000}, {12, 400000}}) {
    const Options o = steps_of(s);
    Solved many = solve(A.view(), b, o);
    NOTE("s = ", s);
    const double limit = in_u * 0x1p-53;
    const std::size_t at_once = std::size_t(s);
    auto first_round = [&](double residual) {
      std::size_t iterations = at_once;
      while (wanted.at(iterations - 1) > residual) iterations += at_once;
      return iterations;
    };
    CHECK(many.report.status == Status::converged);
    CHECK(many.report.iterations >= first_round(o.rtol + limit));
    CHECK(many.report.iterations <= first_round(o.rtol - limit));
    auto& told = many.report.history;
    REQUIRE(told.size() == std::size_t(many.report.iterations));
    for (std::size_t i = 0; i < told.size(); i++) {
      if ((i + 1) % at_once > 0 && i > 0) CHECK(told[i] == told[i - 1]);
      if ((i + 1) % at_once == 0) CHECK_NEAR(told[i], wanted.at(i), limit);
    }
  }
}

TEST("cbcg: the history has the last round, and callbacks are told the residual of the x that they look at") {
  NOTE(fresh::said());
  fresh::Random random(533);
  CsrMatrix A = poisson(9, 10, 11, 7, 100);
  auto b = random.normals(A.n);
  for (int most : {12, 25, 36}) {
    Options o = steps_of(12);
    o.rtol = 1e-13;
    o.maxiter = most;
    int looks = 0;
    std::vector<double> residuals, of_x;  // as told
    System system{.A = A.view()};
    system.watch = {.every = 12, .x = true, .look = [&](int iteration, double residual, const double* x) {
                      CHECK(iteration == 12 * ++looks);
                      residuals.push_back(residual);
                      of_x.push_back(matrices::exact_residual(A.view(), b, {x, x + A.n}) / matrices::norm(b));
                    }};
    Solver solver(system, o);
    Solved s = solve(solver, b);
    NOTE(most, " iterations: ", s.report.reason);
    REQUIRE(s.report.history.size() == std::size_t(most));
    CHECK_NEAR(s.report.history.back() / s.report.true_residual, 1, 1e-6);
    REQUIRE(looks == most / 12);
    for (std::size_t i = 0; i < residuals.size(); i++) {
      CHECK(residuals[i] == s.report.history[12 * i + 11]);
      CHECK_NEAR(residuals[i] / of_x[i], 1, 1e-6);
    }
  }
}

TEST("cbcg: powers of two before A and b change no digit, however large") {
  NOTE(fresh::said());
  fresh::Random random(534);
  CsrMatrix A = poisson(7, 8, 9, 7, 100);
  auto b = random.normals(A.n);
  Options o = steps_of(8);
  o.precond = "none";  // Jacobi would take them out of A
  Solved plain = solve(A.view(), b, o);
  for (int exponent : {-600, -520, 520, 600}) {
    CsrMatrix B = A;
    for (double& v : B.values) v = std::ldexp(v, exponent);
    Solved s = solve(B.view(), b, o);
    NOTE("2^", exponent, ": ", s.report.reason);
    CHECK(s.report.iterations == plain.report.iterations);
    CHECK(s.report.history == plain.report.history);
    for (double& x : s.x) x = std::ldexp(x, exponent);
    CHECK(same_bits(s.x, plain.x));
  }
}

// Without a preconditioner it falls back to cg nearly always, which begins anew: of 120 systems of contrast 1e6 one took 1.78
// times cg's iterations, and 1.22 times its reductions.
TEST("cbcg: converges where cg does, on contrasts of 1 to 1e6, to the same verified residual, with fewer reductions") {
  NOTE(fresh::said());
  fresh::Random random(521);
  for (double contrast : {1.0, 10.0, 1e2, 1e3, 1e4, 1e6})
    for (int points : {7, 27})
      for (const char* precond : {"none", "jacobi", "chebyshev"}) {
        CsrMatrix A = poisson(random.whole(8, 13), random.whole(8, 13), random.whole(8, 13), points, contrast);
        auto b = random.normals(A.n);
        Options o = steps_of(12, "host", int(random.whole(1, 4))), classic = classic_cg();
        o.precond = classic.precond = precond;
        Solved s = solve(A.view(), b, o), c = solve(A.view(), b, classic);
        NOTE("contrast ", contrast, ", ", points, " points, ", precond, ", n = ", A.n, ": ", s.report.iterations, " and ",
             c.report.iterations, ", ", s.report.reason);
        REQUIRE(c.report.status == Status::converged);
        CHECK(s.report.status == Status::converged);
        CHECK(matrices::exact_residual(A.view(), b, s.x) <= o.rtol * matrices::norm(b) * (1 + 1e-10));
        const bool alone = o.precond == "none";
        CHECK(s.report.iterations <= c.report.iterations * (alone ? 2.0 : 1.25) + 24);
        CHECK(s.report.ledger.reductions <= c.report.ledger.reductions * (alone ? 1.6 : 0.4) + 12);
      }
}

TEST("cbcg: where directions lose their conjugacy s is lowered, and the reason says so") {
  NOTE(fresh::said());
  fresh::Random random(531);
  CsrMatrix A = poisson(9, 12, 11, 7, 1e4);
  auto b = random.normals(A.n);
  Options o = steps_of(12), classic = classic_cg();
  Solved jacobi = solve(A.view(), b, o);
  CHECK(jacobi.report.reason == "the recomputed residual meets the tolerance");
  o.precond = classic.precond = "none";
  Solver solver(A.view(), o);
  Solved s = solve(solver, b), c = solve(A.view(), b, classic);
  NOTE(s.report.iterations, " and ", c.report.iterations, ": ", s.report.reason);
  CHECK(s.report.status == Status::converged);
  CHECK((says(s, "; s was lowered from 12 to ") || says(s, "; cg went on where 12 steps at once did not get on")));
  CHECK(solver.steps() == 12);  // and the next solve begins with as many
  CHECK(same_bits(solve(solver, b).x, s.x));
}

TEST("cbcg: iterations that are fewer than s are done with a smaller s, and nothing is said of it") {
  NOTE(fresh::said());
  fresh::Random random(532);
  CsrMatrix A = poisson(9, 10, 11, 7, 100);
  auto b = random.normals(A.n);
  for (int most : {1, 2, 5, 13, 23}) {
    Options o = steps_of(12);
    o.rtol = 1e-13;
    o.maxiter = most;
    Solved s = solve(A.view(), b, o);
    NOTE(most, " iterations: ", s.report.reason);
    CHECK(s.report.status == Status::max_iterations);
    CHECK(s.report.iterations == most);
    CHECK(!says(s, "get on"));
  }
}

TEST("cbcg: every s gives the same bits on any number of ranks of host and model, with equal ledgers") {
  NOTE(fresh::said());
  fresh::Random random(522);
  CsrMatrix A = poisson(7, 8, 20, 7, 1000);
  auto b = random.normals(A.n);
  for (int s : {1, 3, 5, 12, 16})
    for (const char* basis : {"chebyshev", "monomial"}) {
      Options o = steps_of(s);
      o.basis = basis;
      Solved first = solve(A.view(), b, o);
      CHECK(first.report.status == Status::converged);
      for (int ranks : {1, 2, 3, 7}) {
        NOTE("s = ", s, ", ", basis, ", ", ranks, " ranks");
        o.ranks = ranks;
        o.engine = "host";
        Solved host = solve(A.view(), b, o);
        o.engine = "model";
        Solved model = solve(A.view(), b, o);
        CHECK(same_bits(host.x, first.x));
        CHECK(same_bits(model.x, first.x));
        CHECK(model.report.ledger.same_counts(host.report.ledger));
      }
    }
}

TEST("cbcg: one pair of reductions for s products, of s s + 1 and s (s + 1) / 2 + s values") {
  NOTE(fresh::said());
  fresh::Random random(523);
  CsrMatrix A = poisson(16, 16, 24, 7, 1);
  auto b = random.normals(A.n);
  for (int s = 1; s <= gram::most_s; s++)
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 3}) {
        NOTE("s = ", s, " on ", engine, ", ", ranks, " ranks");
        Ledger l = round_of(A.view(), b, steps_of(s, engine, ranks));
        CHECK(l.reductions == 2);
        CHECK(l.reduced_values == s * (s + 1) / 2 + s + 1 + s * s);
        CHECK(l.messages == (ranks > 1 ? s : 0));
      }
}

/// Of the systems below each block has a batch, of 19 rows; what is moved and computed is told of whole batches.
constexpr double batches = 840, batch = 1024;
double sums_of_tables(int s) { return s * s + s * (s + 3) / 2.0; }

TEST("cbcg: vector traffic and workspace are what its header says") {
  NOTE(fresh::said());
  fresh::Random random(524);
  CsrMatrix A = poisson(20, 20, 40, 7, 1);
  auto b = random.normals(A.n);
  const double n = double(A.n), matrix = 12 * double(A.indptr.back()) + 20 * n;
  for (int s : {3, 4, 8, 11, 16}) {
    NOTE("s = ", s);
    Options o = steps_of(s);
    o.storage = "csr";  // whose bytes are taken off
    double words = (round_of(A.view(), b, o).memory_bytes - s * matrix) / (8 * n);
    CHECK_NEAR(words, 18 * s + 2 * sums_of_tables(s) / batch, 1);
    CHECK_NEAR(double(Solver(A.view(), o).memory()[0]) / (8 * n), 4 * s + 6 + 5 + 0.5 + (s * s + s) * batches / n, 0.5);
  }
}

TEST("cbcg: operations are those of the product, of two tables of products and of the updates by them") {
  NOTE(fresh::said());
  fresh::Random random(525);
  CsrMatrix A = poisson(20, 20, 40, 7, 1);
  auto b = random.normals(A.n);
  for (int s : {4, 12}) {
    NOTE("s = ", s);
    Options o = steps_of(s);
    o.storage = "csr";
    double flops = (round_of(A.view(), b, o).flops - s * 2 * double(A.indptr.back())) / double(A.n);
    CHECK_NEAR(flops, 7 * s * s + 13 * s - 4 + sums_of_tables(s) / batch, 1);
  }
}

// The condition of s powers grows exponentially, that of Chebyshev polynomials slowly: 12 and 16 powers always make s smaller,
// 16 polynomials may, too, for a last round (2 of 400 systems), but sums stay less than half as many (of these at most 0.42).
TEST("cbcg: powers of A lose their independence where Chebyshev polynomials keep it") {
  NOTE(fresh::said());
  fresh::Random random(525);
  CsrMatrix A = poisson(12, 12, 12, 7, 1e3);
  auto b = random.normals(A.n);
  for (int s : {1, 2, 3, 12, 16}) {
    Options o = steps_of(s);
    Solved polynomials = solve(A.view(), b, o);
    o.basis = "monomial";
    Solved powers = solve(A.view(), b, o);
    NOTE("s = ", s, ": ", polynomials.report.reason, "; powers: ", powers.report.reason);
    CHECK(polynomials.report.status == Status::converged);
    CHECK(powers.report.status == Status::converged);
    CHECK(says(powers, "did not get on") == (s > 3));
    if (s <= 3) CHECK(!says(polynomials, "did not get on"));
    if (s > 3) CHECK(2 * polynomials.report.ledger.reductions < powers.report.ledger.reductions);
  }
}

TEST("cbcg: the power method's eigenvalue will do as well") {
  NOTE(fresh::said());
  fresh::Random random(526);
  for (const char* precond : {"none", "jacobi", "chebyshev"}) {
    CsrMatrix A = poisson(9, 9, 9, 27, 1e3);
    auto b = random.normals(A.n);
    Options o = steps_of(10);
    o.precond = precond;
    int ritz = solve(A.view(), b, o).report.iterations;
    o.spectrum = "power";
    Solved power = solve(A.view(), b, o);
    NOTE(precond, ": ", power.report.reason);
    CHECK(power.report.status == Status::converged);
    CHECK(std::abs(power.report.iterations - ritz) <= *o.s + ritz / 4);
  }
}

TEST("cbcg: the eigenvalue is found at setup, and again with new values") {
  NOTE(fresh::said());
  fresh::Random random(527);
  CsrMatrix A = poisson(8, 8, 8, 7, 10), B = poisson(8, 8, 8, 7, 1e3);
  for (double& v : B.values) v *= 1e6;
  auto b = random.normals(A.n);
  Options o = steps_of(6);
  o.precond = "none";
  Solver solver(A.view(), o);
  Solved first = solve(solver, b), second = solve(solver, b);
  CHECK(same_bits(first.x, second.x));
  CHECK(first.report.ledger.same_counts(second.report.ledger));
  solver.update_values(B.values.data());
  Solved other = solve(solver, b), fresh = solve(B.view(), b, o);
  CHECK(same_bits(other.x, fresh.x));
  CHECK(other.report.ledger.same_counts(fresh.report.ledger));
}

TEST("cbcg: fewer unknowns than steps, and eigenvectors, are solved at once") {
  NOTE(fresh::said());
  fresh::Random random(528);
  for (i64 n : {1, 2, 3, 5, 9})
    for (int ranks : {1, int(std::min<i64>(n, 3))}) {
      CsrMatrix A = matrices::spd(random, n, 2, n);
      auto b = random.normals(n);
      Solved s = solve(A.view(), b, steps_of(12, "host", ranks));
      NOTE("n = ", n, ", ranks = ", ranks, ": ", s.report.reason);
      CHECK(s.report.status == Status::converged);
      CHECK(s.report.iterations <= 24);
    }
  CsrMatrix I = matrices::diagonal(random, 300);
  Solved s = solve(I.view(), random.normals(300), steps_of(12));  // with Jacobi: the identity
  CHECK(s.report.status == Status::converged);
  CHECK(s.report.iterations == 12);
}

TEST("cbcg: beyond the accuracy that s steps can attain cg goes on, and nothing false is said") {
  NOTE(fresh::said());
  fresh::Random random(529);
  CsrMatrix A = poisson(14, 14, 14, 7, 1e3);
  auto b = random.normals(A.n);
  Options o = steps_of(12), classic = classic_cg();
  o.rtol = classic.rtol = 1e-17;  // below what can be attained
  Solved s = solve(A.view(), b, o), c = solve(A.view(), b, classic);
  NOTE(s.report.reason);
  CHECK(s.report.status == Status::stagnated);
  CHECK(says(s, "cg went on where 12 steps at once did not get on"));
  CHECK(s.report.true_residual <= 10 * c.report.true_residual);
  CHECK(same_bits(solve(A.view(), b, o).x, s.x));
}

TEST("cbcg: a matrix that is not positive definite is noticed once cg goes on") {
  NOTE(fresh::said());
  fresh::Random random(530);
  CsrMatrix A = matrices::spd(random, 300, 3, 300);
  auto rows = matrices::rows(A);
  for (i64 i = 0; i < 300; i += 2) rows[std::size_t(i)][i32(i)] *= -1;
  Options o = steps_of(12);
  o.precond = "none";
  Solved s = solve(matrices::csr(rows).view(), random.normals(300), o);
  NOTE(s.report.reason);
  CHECK(s.report.status == Status::indefinite);
  CHECK(says(s, "cg went on where 12 steps at once did not get on"));
}

TEST("cbcg: s, batch, basis and spectrum out of range are refused with a sentence") {
  CsrMatrix A = poisson(4, 4, 4, 7, 1);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (int s : {0, 17})
    CHECK_THROWS(solve(A.view(), b, steps_of(s)), Error, "s must be auto, or from 1 to 16, not " + std::to_string(s));
  Options o = steps_of(4);
  for (int batch : {-1, 31, 65537}) {
    o.batch = batch;
    CHECK_THROWS(solve(A.view(), b, o), Error, "batch must be from 32 to 65536, not " + std::to_string(batch));
  }
  o.batch = 32;
  CHECK(solve(A.view(), b, o).report.status == Status::converged);
  o.basis = "newton";
  CHECK_THROWS(solve(A.view(), b, o), Error, "there is no basis 'newton'; there are chebyshev, monomial");
}
