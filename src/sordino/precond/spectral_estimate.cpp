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
constexpr i64 block = 1 << 12;  // rows that are worth a thread, and whose terms are added up by themselves

using Vector = std::vector<double>;

/// What term(row) returns for rows [first, end), added up in an order that does not depend on the number of threads.
template <class Term>
double sum_of(i64 first, i64 end, const Term& term) {
  const i64 blocks = (end - first + block - 1) / block;
  Vector sums(static_cast<std::size_t>(blocks));
  for_parts(
      0, blocks,
      [&](i64 begin, i64 last) {
        for (i64 b = begin; b < last; b++) {
          double sum = 0;
          for (i64 i = first + b * block; i < std::min(end, first + (b + 1) * block); i++) sum += term(std::size_t(i));
          sums[std::size_t(b)] = sum;
        }
      },
      1);
  double sum = 0;
  for (double of_block : sums) sum += of_block;
  return sum;
}

template <class Term>
double sum_of(std::size_t rows, const Term& term) {
  return sum_of(0, i64(rows), term);
}

template <class Act>
void for_rows(i64 first, i64 end, const Act& act) {
  for_parts(
      first, end,
      [&](i64 begin, i64 last) {
        for (i64 i = begin; i < last; i++) act(std::size_t(i));
      },
      block);
}

template <class Act>
void for_rows(std::size_t rows, const Act& act) {
  for_rows(0, i64(rows), act);
}

/// Knuth's linear congruence, or several steps of it at once.
struct Congruence {
  u64 factor = 6364136223846793005u, term = 1442695040888963407u;

  u64 operator()(u64 state) const { return state * factor + term; }
  Congruence behind(const Congruence& first) const { return {factor * first.factor, factor * first.term + term}; }
  static u64 after(i64 steps, u64 state) {
    for (Congruence step; steps > 0; steps /= 2, step = step.behind(step))
      if (steps % 2 == 1) state = step(state);
    return state;
  }
};

/// v[i] = numbers in [-1, 1) without a pattern, the first one that of row `number`.
void fill(Vector& v, i64 begin, i64 end, i64 number) {
  u64 state = Congruence::after(number, 1);
  for (i64 i = begin; i < end; i++) v[std::size_t(i)] = double((state = Congruence()(state)) >> 11) * 0x1p-52 - 1;
}

/// The same of length 1.
Vector start(std::size_t n) {
  Vector v(n);
  fill(v, 0, i64(n), 0);
  const double norm = std::sqrt(sum_of(n, [&](std::size_t i) { return v[i] * v[i]; }));
  for_rows(n, [&](std::size_t i) { v[i] /= norm; });
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

/// Row i of S A S v.
double product(const CsrView& A, const Vector& S, const Vector& v, std::size_t i) {
  double sum = 0;
  for (i64 k = A.begin(i64(i)); k < A.begin(i64(i) + 1); k++) {
    const std::size_t j = std::size_t(A.indices[k]);
    sum += A.values[k] * S[j] * v[j];
  }
  return S[i] * sum;
}

/// [A.n] 1 / sqrt(a_ii) of the rows that are held
Vector scaling(const CsrView& A) {
  Vector S(static_cast<std::size_t>(A.n));
  for_rows(A.first_row, A.end_row(), [&](std::size_t i) {
    for (i64 k = A.begin(i64(i)); k < A.begin(i64(i) + 1); k++)
      if (std::size_t(A.indices[k]) == i) S[i] = 1 / std::sqrt(A.values[k]);
  });
  return S;
}

double largest_ritz_value(const CsrView& A, const OthersRows& others) {
  const std::size_t n = std::size_t(A.n);
  const i64 first = A.first_row, end = A.end_row();
  const auto sum = [&](const auto& term) { return others.sum(sum_of(first, end, term)); };
  Vector S = scaling(A), v(n), before(n, 0.0), w(n), diagonal, beside;
  others.complete(S);
  fill(v, first, end, others.first);
  const double norm = std::sqrt(sum([&](std::size_t i) { return v[i] * v[i]; }));
  for_rows(first, end, [&](std::size_t i) { v[i] /= norm; });
  for (int step = 0; step < lanczos_steps; step++) {
    const double back = beside.empty() ? 0 : beside.back();
    others.complete(v);
    const double alpha = sum([&](std::size_t i) { return v[i] * (w[i] = product(A, S, v, i)); });
    diagonal.push_back(alpha);
    const double beta = std::sqrt(sum([&](std::size_t i) {
      w[i] -= alpha * v[i] + back * before[i];
      return w[i] * w[i];
    }));
    if (step + 1 == lanczos_steps || !(beta > 1e-12 * alpha)) break;
    beside.push_back(beta);
    for_rows(first, end, [&](std::size_t i) { before[i] = v[i], v[i] = w[i] / beta; });
  }
  return largest_eigenvalue(diagonal, beside);
}

}  // namespace

double estimated_bound(const CsrView& A) {
  const auto alone = [](double value) { return value; };
  return estimated_bound(A, OthersRows{.first = 0, .complete = [](Vector&) {}, .sum = alone, .most = alone});
}

double estimated_bound(const CsrView& A, const OthersRows& others) {
  const double bound = others.most(spectral_bound(A));
  return std::min(bound, margin * largest_ritz_value(A, others));
}

double estimated_bound(const CsrView& A, const std::function<void(const double*, double*)>& solve) {
  const std::size_t n = std::size_t(A.n);
  const Vector ones(n, 1.0);
  Vector v = start(n), before(n, 0.0), w(n), Av(n), Aw(n), diagonal, beside;
  const auto multiplied = [&](const Vector& x, Vector& Ax) {  // and x^T A x
    return sum_of(n, [&](std::size_t i) { return x[i] * (Ax[i] = product(A, ones, x, i)); });
  };
  const double norm = std::sqrt(multiplied(v, Av));
  for_rows(n, [&](std::size_t i) { v[i] /= norm, Av[i] /= norm; });
  for (int step = 0; step < lanczos_steps; step++) {
    solve(Av.data(), w.data());
    const double back = beside.empty() ? 0 : beside.back();
    const double alpha = sum_of(n, [&](std::size_t i) { return w[i] * Av[i]; });
    diagonal.push_back(alpha);
    for_rows(n, [&](std::size_t i) { w[i] -= alpha * v[i] + back * before[i]; });
    const double beta = std::sqrt(std::max(multiplied(w, Aw), 0.0));
    if (step + 1 == lanczos_steps || !(beta > 1e-12 * alpha)) break;
    beside.push_back(beta);
    for_rows(n, [&](std::size_t i) { before[i] = v[i], v[i] = w[i] / beta, Av[i] = Aw[i] / beta; });
  }
  return margin * largest_eigenvalue(diagonal, beside);
}

}  // namespace sordino
