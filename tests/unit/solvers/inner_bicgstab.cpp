// BiCGStab as a preconditioner against the same steps on one array, in long double.
#include "sordino/solvers/inner_bicgstab.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

using Wide = std::vector<long double>;

Wide times(const CsrMatrix& A, const Wide& x) {
  Wide y(x.size());
  for (std::size_t i = 0; i < y.size(); i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++)
      y[i] += (long double)A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
  return y;
}
long double dot(const Wide& a, const Wide& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

/// van der Vorst's, preconditioned from the right by a diagonal d, from x = 0.
Wide steps_of_bicgstab(const CsrMatrix& A, const std::vector<double>& d, const std::vector<double>& b, int steps) {
  const std::size_t n = b.size();
  Wide x(n), r(b.begin(), b.end()), p = r;
  const Wide shadow = r;
  auto scaled = [&](Wide v) {
    for (std::size_t i = 0; i < n; i++) v[i] *= d[i];
    return v;
  };
  for (int k = 0; k < steps; k++) {
    const Wide ph = scaled(p), v = times(A, ph);
    const long double rho = dot(shadow, r), alpha = rho / dot(shadow, v);
    Wide s = r;
    for (std::size_t i = 0; i < n; i++) s[i] -= alpha * v[i];
    const Wide sh = scaled(s), t = times(A, sh);
    const long double omega = dot(t, s) / dot(t, t);
    for (std::size_t i = 0; i < n; i++) x[i] += alpha * ph[i] + omega * sh[i], r[i] = s[i] - omega * t[i];
    const long double beta = dot(shadow, r) / rho * alpha / omega;
    for (std::size_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
  }
  return x;
}

std::vector<double> applied(const CsrMatrix& A, int ranks, int steps, const std::vector<double>& d,
                            const std::vector<double>& b) {
  std::vector<double> x(b.size());
  host::HostEngine engine({.ranks = ranks, .timeout = 20});
  const Partition p = balance(A.view(), ranks);
  engine.run([&](Rank& s) {
    auto entries = std::make_unique<CsrOperator>(s, A.view(), p);
    Vec inverse = s.vector("D^-1", entries->space());
    const i64 first = p.first_row(s.id());
    s.write(inverse, d.data() + first);
    InnerBicgstab M(s, std::move(entries), Scaling{inverse}, steps);
    Vec from = M.operand(s, "b"), to = M.result(s, "x");
    Recorded apply = s.record([&] { M.apply(s, from, to); });
    s.write(from, b.data() + first);
    s.replay(apply);
    s.read(to, x.data() + first);
  });
  return x;
}

/// With a dominant diagonal of about 4, and entries on both sides that differ.
CsrMatrix nonsymmetric(i64 n, fresh::Random& random) {
  CsrMatrix A;
  A.n = n;
  A.indptr.push_back(0);
  for (i64 i = 0; i < n; i++) {
    for (i64 j = std::max<i64>(0, i - 3); j <= std::min(n - 1, i + 3); j++) {
      A.indices.push_back(i32(j));
      A.values.push_back(i == j ? 4 + random.real(0, 1) : random.real(-1, 0.5));
    }
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

}  // namespace

TEST("inner BiCGStab takes the steps that it was asked for") {
  NOTE(fresh::said());
  fresh::Random random(120);
  for (i64 n : {9, 150, 700}) {
    const CsrMatrix A = nonsymmetric(n, random);
    const auto b = random.normals(n);
    std::vector<double> d;
    for (i64 i = 0; i < n; i++) d.push_back(random.real(0.1, 0.4));
    for (int steps : {1, 2, 3, 4})
      for (int ranks : {1, 3}) {
        NOTE("n = ", n, ", ", steps, " steps, ", ranks, " ranks");
        const auto x = applied(A, ranks, steps, d, b);
        const Wide exact = steps_of_bicgstab(A, d, b, steps);
        long double off = 0;
        for (std::size_t i = 0; i < x.size(); i++) off = std::max(off, std::abs(x[i] - exact[i]));
        CHECK(off <= 1e-11L * std::sqrt(dot(exact, exact)));
      }
  }
}

TEST("inner BiCGStab keeps what it has found where nothing is left, and makes nothing of nothing") {
  NOTE(fresh::said());
  fresh::Random random(121);
  const CsrMatrix A = nonsymmetric(3, random);
  const std::vector<double> ones(3, 1.0), b = random.normals(3);
  const auto x = applied(A, 1, 40, ones, b);
  const Wide back = times(A, Wide(x.begin(), x.end()));
  for (std::size_t i = 0; i < 3; i++) CHECK(std::abs(back[i] - b[i]) <= 1e-9);  // and no NaN
  for (double zero : applied(A, 2, 5, ones, std::vector<double>(3))) CHECK(zero == 0);
}
