#include "sordino/precond/spectral_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/chebyshev.hpp"

namespace sordino {
namespace {

constexpr int lanczos_steps = 15, halvings = 60;
constexpr double margin = 1.1;
constexpr i64 least_rows = 1 << 12;  // that are worth a thread

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

/// Numbers in [-1, 1) without a pattern, of length 1.
Vector start(std::size_t n) {
  Vector v(n);
  u64 state = 1;
  for (double& x : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's linear congruence
    x = double(state >> 11) * 0x1p-52 - 1;
  }
  const double norm = std::sqrt(dot(v, v));
  for (double& x : v) x /= norm;
  return v;
}

/// How many eigenvalues of the tridiagonal matrix are less than x (Sturm).
int count_below(const Vector& diagonal, const Vector& beside, double x) {
  int count = 0;
  double q = 1;
  for (std::size_t k = 0; k < diagonal.size(); k++) {
    const double off = k == 0 ? 0 : beside[k - 1];
    q = diagonal[k] - x - (off == 0 ? 0 : off * off / (q == 0 ? 1e-300 : q));
    count += q < 0;
  }
  return count;
}

double largest_eigenvalue(const Vector& diagonal, const Vector& beside) {
  double low = 0, high = 0;
  for (std::size_t k = 0; k < diagonal.size(); k++)
    high = std::max(high, diagonal[k] + (k > 0 ? beside[k - 1] : 0) + (k < beside.size() ? beside[k] : 0));
  for (int k = 0; k < halvings; k++) {
    const double middle = (low + high) / 2;
    (count_below(diagonal, beside, middle) == int(diagonal.size()) ? high : low) = middle;
  }
  return high;
}

/// w = S A S v
void multiply(const CsrView& A, const Vector& S, const Vector& v, Vector& w) {
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++) {
          double sum = 0;
          for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
            const std::size_t j = std::size_t(A.indices[k]);
            sum += A.values[k] * S[j] * v[j];
          }
          w[std::size_t(i)] = S[std::size_t(i)] * sum;
        }
      },
      least_rows);
}

double largest_ritz_value(const CsrView& A) {
  const std::size_t n = std::size_t(A.n);
  Vector S(n), v = start(n), before(n, 0.0), w(n), diagonal, beside;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
      if (A.indices[k] == i) S[std::size_t(i)] = 1 / std::sqrt(A.values[k]);
  for (int step = 0; step < lanczos_steps; step++) {
    multiply(A, S, v, w);
    const double back = beside.empty() ? 0 : beside.back(), alpha = dot(v, w);
    diagonal.push_back(alpha);
    for (std::size_t i = 0; i < n; i++) w[i] -= alpha * v[i] + back * before[i];
    const double beta = std::sqrt(dot(w, w));
    if (step + 1 == lanczos_steps || !(beta > 1e-12 * alpha)) break;
    beside.push_back(beta);
    for (std::size_t i = 0; i < n; i++) before[i] = v[i], v[i] = w[i] / beta;
  }
  return largest_eigenvalue(diagonal, beside);
}

}  // namespace

double estimated_bound(const CsrView& A) {
  const double bound = spectral_bound(A);
  return std::min(bound, margin * largest_ritz_value(A));
}

double estimated_bound(const CsrView& A, const std::function<void(const double*, double*)>& solve) {
  const std::size_t n = std::size_t(A.n);
  const Vector ones(n, 1.0);
  Vector v = start(n), before(n, 0.0), w(n), Av(n), Aw(n), diagonal, beside;
  multiply(A, ones, v, Av);
  const double norm = std::sqrt(dot(v, Av));
  for (std::size_t i = 0; i < n; i++) v[i] /= norm, Av[i] /= norm;
  for (int step = 0; step < lanczos_steps; step++) {
    solve(Av.data(), w.data());
    const double back = beside.empty() ? 0 : beside.back(), alpha = dot(w, Av);
    diagonal.push_back(alpha);
    for (std::size_t i = 0; i < n; i++) w[i] -= alpha * v[i] + back * before[i];
    multiply(A, ones, w, Aw);
    const double beta = std::sqrt(std::max(dot(w, Aw), 0.0));
    if (step + 1 == lanczos_steps || !(beta > 1e-12 * alpha)) break;
    beside.push_back(beta);
    for (std::size_t i = 0; i < n; i++) before[i] = v[i], v[i] = w[i] / beta, Av[i] = Aw[i] / beta;
  }
  return margin * largest_eigenvalue(diagonal, beside);
}

}  // namespace sordino
