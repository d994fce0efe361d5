// What a polynomial as the preconditioner does to the sums of a method: fewer of them, and more to hide them behind.
#include "sordino/precond/chebyshev.hpp"
#include "check.hpp"
#include "described.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/solvers/driver.hpp"

using namespace described;

namespace {

runs::Iteration iteration(const std::string& name, int degree, const model::Options& o, const runs::Mutation& mutate = {}) {
  auto program = [&](Rank& s, int max) {
    CsrView A = matrix().view();
    Partition partition = balance(A, s.size());
    CsrOperator op(s, A, partition);
    Chebyshev M(s, op, A, degree, spectral_bound(A));
    Driver driver(s, op, M, method(name), 1 << 20, 1 << 20);
    std::vector<double> b(std::size_t(A.n), 1.0);
    driver.solve(b.data() + driver.space().first_row, nullptr, {.rtol = 1e-300, .max_iterations = max});
    return Outcome{};
  };
  return runs::per_iteration(o, program, 1, mutate);
}

}  // namespace

TEST("gropp: what a step of Jacobi is too short to hide, a polynomial hides") {
  const double reduction = 9 * us;
  model::Options o = machine(reduction);
  for (int degree : {1, 3}) {
    NOTE("degree ", degree);
    auto it = iteration("gropp", degree, o), mutated = iteration("gropp", degree, o, runs::finish_at_once);
    CHECK_NEAR(it.exposed_reduction, 0, tiny);
    CHECK_NEAR(it.hidden_reduction, 2 * reduction, tiny);
    CHECK_NEAR(it.exposed_halo, 0, tiny);
    CHECK_NEAR(mutated.exposed_reduction, 2 * reduction, tiny);
    CHECK_NEAR(mutated.time - it.time, 2 * reduction, 0.1 * us);
  }
}

TEST("richardson: an iteration exposes its sum, and no halo of the polynomial") {
  const double reduction = 9 * us;
  model::Options o = machine(reduction);
  for (int degree : {1, 3}) {
    NOTE("degree ", degree);
    auto it = iteration("richardson", degree, o);
    CHECK_NEAR(it.exposed_reduction, reduction, tiny);
    CHECK_NEAR(it.hidden_reduction, 0, tiny);
    CHECK_NEAR(it.exposed_halo, 0, tiny);
  }
}

TEST("cg, fcg: an iteration exposes two sums and hides none, whatever the degree, and no halo of the polynomial") {
  const double reduction = 9 * us;
  model::Options o = machine(reduction);
  for (const char* method : {"cg", "fcg"}) {
    double last = 0;
    for (int degree : {1, 2, 4}) {
      NOTE(method, ", degree ", degree);
      auto it = iteration(method, degree, o);
      CHECK_NEAR(it.exposed_reduction, 2 * reduction, tiny);
      CHECK_NEAR(it.hidden_reduction, 0, tiny);  // so (r,r) has not been started apart, to be summed behind M
      CHECK_NEAR(it.exposed_halo, 0, tiny);
      CHECK(it.time > last + 10 * us);
      last = it.time;
    }
  }
  o.machine.link_latency_s = 100 * us;  // longer than the interior rows of a product take
  CHECK(iteration("cg", 2, o).exposed_halo > 3 * 80 * us);
}
