// A Krylov method of one's own: conjugate residuals (Stiefel 1955; Saad, Iterative Methods for Sparse Linear Systems,
// Alg. 6.20). The library's driver restarts it and verifies it, as it does its own methods; the described machine says what it
// exposes.
//
//   build/examples/own_solver [cells in each direction [ranks]]
//
// docs/writing_a_solver.md goes through it, and says which part stands where in the library.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "sordino/solvers/driver.hpp"

// [header: solvers/residuals.hpp]
// Conjugate residuals with a diagonal M: for symmetric positive definite A; each step minimises
// (r, M^-1 r), where CG minimises the error in the norm of A.
//
// Per iteration: 1 operator, 1 halo, 2 reductions of 2 and 1 values, both exposed. Vector traffic beyond the operator 16 n
// words, workspace 5 n.
namespace sordino::residuals {

struct Begin {  // r = b - A x;  z = M^-1 r;  p = q = 0.   beta = 0 in the first iteration because rho_old is infinite
  Put rho_old;
  In b, Ax;
  Scaling d;
  Out r, z, p, q;
  static constexpr double flops = 2;
  SORDINO_HD void head() { rho_old = HUGE_VAL; }
  SORDINO_HD void row(i32 i) {
    double ri = b[i] - Ax[i];
    r[i] = ri;
    z[i] = d[i] * ri;
    p[i] = q[i] = 0;
  }
};

struct Direction {  // beta = rho / rho_old;  p = z + beta p;  q = A p = w + beta q
  Get rho, rho_old;
  In z, w;
  Scaling d;
  InOut p, q;
  double beta = 0;
  static constexpr double flops = 7;
  SORDINO_HD void head() { beta = rho / rho_old; }
  SORDINO_HD Sums<1> row(i32 i) {
    double qi = w[i] + beta * q[i];
    p[i] = z[i] + beta * p[i];
    q[i] = qi;
    return {qi * (d[i] * qi)};
  }
};

struct Step {  // alpha = rho / (q, M^-1 q);  x += alpha p;  r -= alpha q;  z = M^-1 r
  Get rho, qq;
  In p, q;
  Scaling d;
  InOut x, r;
  Out z;
  double alpha = 0;
  static constexpr double flops = 5;
  SORDINO_HD void head() { alpha = rho / qq; }
  SORDINO_HD void row(i32 i) {
    x[i] += alpha * p[i];
    double ri = r[i] - alpha * q[i];
    r[i] = ri;
    z[i] = d[i] * ri;
  }
};

struct Residuals final : Method {
  static constexpr const char *name = "residuals", *matrix = "spd";
  static constexpr const char* summary = "conjugate residuals: two exposed reductions, one product";
  static constexpr bool replicated = false;
  explicit Residuals(const Problem& problem);
  using kernels = KernelList<Kernel<Begin>, Kernel<Direction, ConvergedSpd>, Kernel<Step>>;
};

}  // namespace sordino::residuals
// [end of the header]

// [source: solvers/residuals.cpp]
namespace sordino {
namespace residuals {

Residuals::Residuals(const Problem& k) {
  auto& s = k.s;
  auto& A = k.A;
  Vec x = k.x, w = k.Ax, r = k.vector("r"), z = k.operand("z"), p = k.vector("p"), q = k.vector("q");
  Scal rho = s.scalar("(z,w)"), rho_old = s.scalar("(z,w) old"), qq = s.scalar("(q,M^-1 q)");
  rr = s.scalar("(r,r)");
  tests_first = true;

  auto product = [&] { A.apply(s, z, w, start(dot(z, w) >> rho, dot(r, r) >> rr)); };  // w = A z
  begin = s.record([&] {
    s.run(Begin{.rho_old = rho_old, .b = k.b, .Ax = w, .d = k.d, .r = r, .z = z, .p = p, .q = q}, push(z));
    product();
  });
  iterate = k.loop({.scalars = {{rho, rho_old}}}, rr, [&] {
    s.exit_if(ConvergedSpd{finish(rr), rho, k.target, k.bound});
    s.run(Direction{.rho = rho, .rho_old = rho_old, .z = z, .w = w, .d = k.d, .p = p, .q = q}, start(qq));
    s.run(Step{.rho = rho, .qq = finish(qq), .p = p, .q = q, .d = k.d, .x = x, .r = r, .z = z}, push(z));
    product();
  });
}

}  // namespace residuals

template <>
std::unique_ptr<Method> make<residuals::Residuals>(const Problem& problem) {
  return std::make_unique<residuals::Residuals>(problem);
}

}  // namespace sordino
// [end of the source]

namespace {

using namespace sordino;

// [the line in methods.txt, written out]
using Mine = residuals::Residuals;
const MethodEntry entry{Mine::name, Mine::summary, true, Mine::replicated, Mine::any_preconditioner, &make<Mine>};
// [end of the line]

SolveOutcome solve(Rank& s, const CsrMatrix& A, const std::vector<double>& b, const SolveControl& control) {
  Partition partition = balance(A.view(), s.size());
  CsrOperator product(s, A.view(), partition);
  Jacobi M(s, A.view(), product.space());
  Driver driver(s, product, M, entry, /*check_every=*/32, /*replace_every=*/0);
  return driver.solve(b.data() + driver.space().first_row, nullptr, control);
}

// [what an iteration exposes]
/// Exposed reductions an iteration, on a described machine where one takes a second and nothing else any time to speak of: the
/// difference of two runs, so that setup and verification drop out.
double exposed_reductions(const CsrMatrix& A, const std::vector<double>& b, int ranks) {
  auto seconds = [&](int iterations) {
    model::Options o;
    o.ranks = ranks;
    o.machine.reduction_base_s = 1;
    o.machine.launch_s = o.machine.put_overhead_s = 0;
    model::ModelEngine machine(o);
    machine.run([&](Rank& s) { solve(s, A, b, {.rtol = 1e-300, .max_iterations = iterations}); });
    return machine.rank(0).ledger.exposed_reduction;
  };
  return (seconds(15) - seconds(5)) / 10;
}
// [end of what it exposes]

}  // namespace

int main(int argc, char** argv) try {
  const i64 cells = argc > 1 ? std::atoll(argv[1]) : 16;
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 2;
  const CsrMatrix A = poisson(cells, cells, cells, 7, 10);
  const std::vector<double> b(static_cast<std::size_t>(A.n), 1.0);

  SolveOutcome out;
  host::HostEngine threads({.ranks = ranks});
  threads.run([&](Rank& s) {
    SolveOutcome mine = solve(s, A, b, {.rtol = 1e-8});
    if (s.id() == 0) out = mine;
  });
  std::printf("%s after %d iterations on %d ranks, ||b - A x|| / ||b|| = %.2e, recomputed\n", name(out.status), out.iterations,
              ranks, out.residual_norm / out.b_norm);
  const double exposed = exposed_reductions(A, b, 4);
  std::printf("an iteration exposes %.3f reductions\n", exposed);
  return out.status == Status::converged && std::abs(exposed - 2) < 1e-3 ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "own_solver: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
