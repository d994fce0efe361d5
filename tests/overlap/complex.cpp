// What the headers of the methods of complex numbers state of an iteration: reductions, their values, halos, bytes; and that
// complex systems cost the real methods no reduction more.
#include "check.hpp"
#include "conformance/complex_problems.hpp"
#include "sordino/linalg/csr_rows.hpp"

using namespace complex_problems;

namespace {

constexpr int few = 10, many = 20;

struct Each {  // an iteration, on rank 0
  double reductions, values, messages, bytes, exposed, hidden;
};

Each iteration(const System& system, const std::vector<double>& b, const std::string& method, int ranks) {
  auto ledger = [&](int iterations) {
    Options o = problems::options(method, "model", ranks);
    if (system.inverse.n == 0) o.precond = "jacobi";
    o.rtol = 1e-14;
    o.maxiter = iterations;
    o.check_every = o.replace_every = 1 << 20;
    Solver solver(system, o);
    auto solved = problems::solve(solver, b);
    CHECK(solved.report.iterations == iterations);
    return solved.report.ledger;
  };
  Ledger a = ledger(few), c = ledger(many);
  auto each = [&](auto member) { return (double(c.*member) - double(a.*member)) / (many - few); };
  return {each(&Ledger::reductions),   each(&Ledger::reduced_values),    each(&Ledger::messages),
          each(&Ledger::memory_bytes), each(&Ledger::exposed_reduction), each(&Ledger::hidden_reduction)};
}

struct Stated {
  const char* method;
  int reductions, values, operators, numbers;  // vector traffic in numbers of the system, beyond the operators
};

/// A right-hand side that is not random: with few of those a method begins again within the iterations that are counted.
Case counted(const Rows& rows) {
  CsrMatrix A = csr(rows);
  std::vector<double> b;
  for (i64 i = 0; i < 2 * A.n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  return {"", "", std::move(A), std::move(b), {}};
}

void check_stated(const Case& p, const Stated& stated) {
  NOTE(stated.method, ", ", fresh::said());
  const double n = double(p.A.n), nnz = double(p.A.indptr.back());
  Each alone = iteration({.A = p.A.view()}, p.b, stated.method, 1), four = iteration({.A = p.A.view()}, p.b, stated.method, 4);
  CHECK(four.reductions == stated.reductions);
  CHECK(four.values == stated.values);
  CHECK(four.messages == stated.operators);  // rank 0 of slabs has one neighbour
  double products = stated.operators * (csr_cost(p.A.n, i64(nnz), 2).bytes + 2 * 16 * n);
  CHECK_NEAR(alone.bytes, products + stated.numbers * 16 * n, 1e-9 * alone.bytes);
  CHECK(four.exposed > 2 * four.hidden);  // launches cover a little of it
}

}  // namespace

TEST("complex methods cost an iteration what their headers state") {
  NOTE(fresh::said());
  fresh::Random random(310);
  Case hermitian = counted(gauge_laplacian(random, 40, 60, 0.01)), symmetric = counted(helmholtz(40, 60, {-0.4, 0.05}));
  check_stated(hermitian, {"cg", 2, 3, 1, 10});
  check_stated(hermitian, {"cgcg", 1, 3, 1, 13});
  check_stated(symmetric, {"cocg", 2, 6, 1, 10});
  check_stated(symmetric, {"bicgstab", 3, 8, 2, 21});
}

TEST("complex gmres waits for one reduction an iteration, of 16 values for each 4 vectors") {
  const Case p = counted(helmholtz(40, 60, {-0.4, 0.05}));
  const double n = double(p.A.n), nnz = double(p.A.indptr.back());
  const Each alone = iteration({.A = p.A.view()}, p.b, "gmres", 1), four = iteration({.A = p.A.view()}, p.b, "gmres", 4);
  CHECK(four.reductions == 1);
  CHECK(four.values == 16 * 8);  // m = 30, w and u
  CHECK(four.messages == 1);
  const double products = csr_cost(p.A.n, i64(nnz), 2).bytes + 2 * 16 * n;
  CHECK_NEAR(alone.bytes, products + (30 + 2 * 8 + 6) * 16 * n, 0.02 * alone.bytes);  // and small matrices besides
}

TEST("prcg hides its one reduction in complex systems, too, behind both products in one pass") {
  NOTE(fresh::said());
  fresh::Random random(311);
  Case p = problem(random, "", "", gauge_laplacian(random, 40, 60, 0.01));
  Each four = iteration({.A = p.A.view()}, p.b, "prcg", 4);
  CHECK(four.reductions == 1);
  CHECK(four.values == 5);
  CHECK(four.hidden > 2 * four.exposed);
}

TEST("cg and cocg with an operator as M have no sum more than with a diagonal") {
  fresh::Random random(312);
  for (bool is_hermitian : {true, false}) {
    const char* method = is_hermitian ? "cg" : "cocg";
    NOTE(method);
    const Case p = counted(is_hermitian ? gauge_laplacian(random, 40, 60, 0.01) : helmholtz(40, 60, {-0.4, 0.05}));
    Rows diagonal(std::size_t(p.A.n));
    for (std::size_t i = 0; i < diagonal.size(); i++) diagonal[i][i32(i)] = {1 + 0.5 * double(i % 3), 0};
    const CsrMatrix M = csr(diagonal);
    const Each four = iteration({.A = p.A.view(), .inverse = M.view()}, p.b, method, 4);
    CHECK(four.reductions == 2);
    CHECK(four.values == (is_hermitian ? 3 : 6));
    CHECK(four.exposed > 2 * four.hidden);
  }
}
