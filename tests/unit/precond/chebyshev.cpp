#include "sordino/precond/chebyshev.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

std::vector<double> applied(const CsrView& A, int ranks, int degree, double bound, const std::vector<double>& r,
                            const CsrView* updated = nullptr) {
  std::vector<double> z(std::size_t(A.n));
  host::HostEngine engine({.ranks = ranks});
  Partition p = balance(A, ranks);
  engine.run(
      [&](Rank& s) {
        CsrOperator op(s, A, p);
        Chebyshev M(s, op, A, degree, bound);
        if (updated) {
          op.update_values(s, updated->values);
          M.update_values(s, *updated, bound);
        }
        Vec from = M.operation()->operand(s, "r"), to = M.operation()->result(s, "z");
        Recorded apply = s.record([&] { M.operation()->apply(s, from, to); });
        s.write(from, r.data() + p.first_row(s.id()));
        s.replay(apply);
        s.read(to, z.data() + p.first_row(s.id()));
      },
      {});
  return z;
}

/// T_m, within and beyond [-1, 1].
double chebyshev_polynomial(int m, double t) {
  return std::abs(t) <= 1 ? std::cos(m * std::acos(t)) : std::cosh(m * std::acosh(t));
}

}  // namespace

TEST("chebyshev: on an eigenvector it is the polynomial of its degree") {
  const i64 n = 150;
  CsrMatrix A = poisson(n, 1, 1, 7, 1);  // a line, whose eigenvectors are sines
  for (double& v : A.values)
    if (v > 0) v = 2;
  for (double bound : {2.0, 2.5})
    for (int degree : {1, 2, 3, 8})
      for (int ranks : {1, 3})
        for (int j : {1, 2, 40, 149, 150}) {
          NOTE("bound ", bound, ", degree ", degree, ", ", ranks, " ranks, eigenvector ", j);
          const double pi = std::acos(-1.0), lambda = 1 - std::cos(j * pi / double(n + 1)), diagonal = A.values[0];
          std::vector<double> r;
          for (i64 i = 1; i <= n; i++) r.push_back(std::sin(double(i * j) * pi / double(n + 1)));
          const double least = bound / 100, theta = (bound + least) / 2, delta = (bound - least) / 2;
          const int m = degree + 1;
          double left = chebyshev_polynomial(m, (theta - lambda) / delta) / chebyshev_polynomial(m, theta / delta);
          auto z = applied(A.view(), ranks, degree, bound, r);
          for (std::size_t i = 0; i < z.size(); i++) CHECK_NEAR(z[i], (1 - left) / lambda / diagonal * r[i], 1e-10);
        }
}

TEST("chebyshev: symmetric, positive, and the same bits on any number of ranks; new values are those of a new one") {
  NOTE(fresh::said());
  fresh::Random random(411);
  CsrMatrix A = matrices::spd(random, 300, 3, 40), B = A;
  for (double& v : B.values) v *= 0.125;
  double bound = spectral_bound(A.view());
  auto u = random.normals(300), v = random.normals(300);
  auto Mu = applied(A.view(), 1, 4, bound, u), Mv = applied(A.view(), 1, 4, bound, v);
  double uMv = 0, vMu = 0, uMu = 0;
  for (std::size_t i = 0; i < 300; i++) uMv += u[i] * Mv[i], vMu += v[i] * Mu[i], uMu += u[i] * Mu[i];
  CHECK(uMu > 0);
  CHECK_NEAR(uMv, vMu, 1e-12 * uMu);
  for (int ranks : {2, 3, 7}) CHECK(applied(A.view(), ranks, 4, bound, u) == Mu);
  CsrView updated = B.view();
  CHECK(applied(A.view(), 2, 4, bound, u, &updated) == applied(B.view(), 3, 4, bound, u));
}

TEST("chebyshev: the bound is Gershgorin's, and a diagonal that is not positive is refused with its row") {
  CsrMatrix A = poisson(4, 5, 6, 7, 100);
  CHECK_NEAR(spectral_bound(A.view()), 2, 1e-14);
  for (i64 k = A.indptr[17]; k < A.indptr[18]; k++)
    if (A.indices[std::size_t(k)] == 17) A.values[std::size_t(k)] = 0;
  CHECK_THROWS(spectral_bound(A.view()), Error, "the diagonal of row 17 is not positive");
}
