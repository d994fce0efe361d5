// Every registered method solves every problem it takes, verified, with the same bits on any number of ranks and on the model.
#include "check.hpp"
#include "problems.hpp"

using namespace problems;

namespace {

void check_solution(const Case& p, const Solved& s, double rtol) {
  const Report& r = s.report;
  CHECK(r.status == Status::converged);
  NOTE(r.reason);
  double b_norm = matrices::norm(p.b), exact = matrices::exact_residual(p.A.view(), p.b, s.x);
  double slack = rounding(p.A.view(), s.x, p.b);
  CHECK(exact <= rtol * b_norm * (1 + 1e-12) + slack);
  CHECK_NEAR(r.residual_norm, exact, slack + 1e-12 * exact);
  CHECK_NEAR(r.true_residual, exact / b_norm, (slack + 1e-12 * exact) / b_norm);
  CHECK(r.iterations > 0);
  CHECK(!r.history.empty());
  CHECK(r.history.size() <= r.iterations);
  for (double h : r.history) CHECK(std::isfinite(h));
}

int added = [] {
  for (const MethodEntry& m : methods())
    for (const char* precond : {"none", "jacobi"}) {
      if (!gets_on(m, precond)) continue;
      check::add(m.name + " with precond " + precond + " solves, verified, with the same bits everywhere", __FILE__,
                 [&m, precond] {
                   NOTE(fresh::said());
                   fresh::Random random(100);
                   for (auto& p : all(random)) {
                     if (!takes(m, p)) continue;
                     NOTE(p.name, ", n = ", p.A.n);
                     Solved reference;
                     for (const char* engine : {"host", "model"})
                       for (int ranks : {1, 2, 3, 7}) {
                         NOTE("engine ", engine, ", ranks = ", ranks);
                         Options o = options(m.name, engine, ranks);
                         o.precond = precond;
                         Solver solver(p.A.view(), o);
                         CHECK(solver.method() == m.name);
                         CHECK(solver.preconditioner() == precond);
                         CHECK(solver.engine() == engine);
                         CHECK(solver.ranks() == ranks);
                         Solved s = solve(solver, p.b);
                         check_solution(p, s, o.rtol);
                         if (reference.x.empty()) reference = s;
                         CHECK(s.report.iterations == reference.report.iterations);
                         CHECK(same_bits(s.report.history, reference.report.history));
                         CHECK(same_bits(s.x, reference.x));

                         Solved again = solve(solver, p.b);  // on the same solver, and then from another x
                         CHECK(same_bits(again.x, s.x));
                         CHECK(same_bits(again.report.history, s.report.history));
                         CHECK(again.report.ledger.same_counts(s.report.ledger));
                         check_solution(p, solve(solver, p.b, p.x0.data()), o.rtol);
                       }
                   }
                 });
    }
  return 0;
}();

}  // namespace

TEST("ledgers of the same solve are identical on host and model") {
  NOTE(fresh::said());
  fresh::Random random(101);
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      for (int ranks : {1, 2, 3, 7}) {
        NOTE(m.name, ", ", p.name, ", ranks = ", ranks);
        auto host = solve(p.A.view(), p.b, options(m.name, "host", ranks)).report.ledger;
        auto model = solve(p.A.view(), p.b, options(m.name, "model", ranks)).report.ledger;
        CHECK(host.same_counts(model));
        CHECK(host.commands > 0);
        CHECK(host.memory_bytes > 0);
      }
    }
}

TEST("a matrix of one row is solved by every method") {
  for (auto& m : methods())
    for (const char* engine : {"host", "model"})
      for (const char* precond : {"none", "jacobi"}) {
        if (!gets_on(m, precond)) continue;
        NOTE(m.name, " on ", engine, " with ", precond);
        CsrMatrix A = matrices::csr({{{0, 4.0}}});
        Options o = options(m.name, engine, 1);
        o.precond = precond;
        Solved s = solve(A.view(), {3}, o);
        CHECK(s.report.status == Status::converged);
        CHECK_NEAR(s.x[0], 0.75, 1e-15);
      }
}

TEST("as many ranks as rows") {
  NOTE(fresh::said());
  fresh::Random random(102);
  Case p = problem(random, "spd", matrices::spd(random, 11, 3, 11), true);
  for (auto& m : methods())
    for (const char* engine : {"host", "model"}) {
      NOTE(m.name, " on ", engine);
      check_solution(p, solve(p.A.view(), p.b, options(m.name, engine, 11)), 1e-8);
    }
}

TEST("auto takes cg for an SPD matrix, bicgstab for others, and jacobi where it can") {
  NOTE(fresh::said());
  fresh::Random random(103);
  CsrMatrix spd = matrices::spd(random, 50, 3, 50), general = matrices::nonsymmetric(random, 50, 3, 50);
  matrices::Rows hollow = matrices::rows(general);
  hollow[7][7] = 0;
  CsrMatrix zero = matrices::csr(hollow);
  Options o = options("auto", "host", 2);
  CHECK(Solver(spd.view(), o).method() == "cg");
  CHECK(Solver(spd.view(), o).preconditioner() == "jacobi");
  CHECK(Solver(general.view(), o).method() == "bicgstab");
  CHECK(Solver(zero.view(), o).preconditioner() == "none");
  CsrMatrix negative = spd;
  for (double& v : negative.values) v = -v;
  CHECK(Solver(negative.view(), o).method() == "bicgstab");
}

TEST("poisson 64 64 64 with 27 points takes Jacobi-CG 91 iterations to 1e-8, as PETSc, hypre and SciPy") {
  CsrMatrix A = poisson(64, 64, 64, 27, 1);
  std::vector<double> ones(static_cast<std::size_t>(A.n), 1.0), b;
  for (long double y : matrices::exact_product(A.view(), ones).y) b.push_back(double(y));
  Options o = options("cg", "host", 2);
  o.precond = "jacobi";
  Solved s = solve(A.view(), b, o);
  CHECK(s.report.status == Status::converged);
  CHECK(s.report.iterations >= 90);
  CHECK(s.report.iterations <= 92);
  CHECK(matrices::exact_residual(A.view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-9));
}
