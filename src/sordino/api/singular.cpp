#include "sordino/api/singular.hpp"

#include "sordino/api/callers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sordino/base/error.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/word_basis.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace sordino {
namespace {

using hmatrix::Number, hmatrix::words_of;

constexpr int channel = 9;
constexpr double zero = 1e-8;  // ||A n|| / (||A|| ||n||) below which A maps n to zero

template <class V>
V value(const double* v, i64 i) {  // of words that need not lie as a Number does
  if constexpr (words_of<V> == 2)
    return {v[2 * i], v[2 * i + 1]};
  else
    return v[i];
}

template <class V>
double largest(const double* v, i64 n) {
  double most = 0;
  for (i64 i = 0; i < n; i++) most = std::max(most, hmatrix::magnitude(value<V>(v, i)));
  return most;
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// Fixed numbers between -1 and 1, without a pattern: a vector that is orthogonal to no other by chance.
double scattered(i64 i) {
  u64 z = (u64(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return double(z >> 11) * 0x1p-52 - 1;
}

std::string figure(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", ratio);
  return text;
}

/// k, here and below: the number of a vector as the caller counts them, from 0.
void require_right(double ratio, int k) {
  if (!(ratio <= zero))
    bad_argument("nullspace: A does not map vector " + std::to_string(k) +
                 " (counted from 0) to zero: ||A n|| / (||A|| ||n||) = " + figure(ratio));
}

void require_left(double ratio, int k, bool given, int words) {
  if (ratio <= zero) return;
  const bool real = words == 1;
  const std::string other = real ? "transpose" : "conjugate transpose";
  std::string sentence = "the " + other + " of A does not map vector " + std::to_string(k) + " (counted from 0) to zero: ||A^" +
                         (real ? "T" : "H") + " n|| / (||A|| ||n||) = " + figure(ratio);
  bad_argument(given ? "left_nullspace: " + sentence
                     : "nullspace: A maps it to zero, but " + sentence + "; A is not " + (real ? "symmetric" : "Hermitian") +
                           ", so its " + other + " has another nullspace: give left_nullspace, too" +
                           (real ? "" : " (where A^T = A, the conjugate of nullspace)"));
}

/// In the largest norm: ||A n|| / (||A|| ||n||) of the rows in view.
template <class V>
double row_ratio(const CsrView& A, const double* v) {
  double worst = 0, size = 0;
  for (i64 i = A.first_row; i < A.end_row(); i++) {
    V sum{};
    double row = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      const V entry = value<V>(A.values, k);
      sum = sum + entry * value<V>(v, A.indices[k]);
      row += hmatrix::magnitude(entry);
    }
    worst = std::max(worst, hmatrix::magnitude(sum)), size = std::max(size, row);
  }
  return size > 0 ? worst / (size * largest<V>(v, A.n)) : 0;
}

/// The same of A^H n.
template <class V>
double column_ratio(const CsrView& A, const double* v) {
  std::vector<V> sums(std::size_t(A.n));
  std::vector<double> columns(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      const std::size_t j = std::size_t(A.indices[k]);
      const V entry = value<V>(A.values, k);
      sums[j] = sums[j] + hmatrix::conjugate(entry) * value<V>(v, i);
      columns[j] += hmatrix::magnitude(entry);
    }
  const double size = largest<double>(columns.data(), A.n);
  return size > 0 ? largest<V>(hmatrix::words(sums.data()), A.n) / (size * largest<V>(v, A.n)) : 0;
}

/// Of columns that belong to one complex vector the first stands for all: A maps i times it to i times its product.
template <class V>
void require_rows_to_map(const CsrView& A, const Nullspace& nullspace) {
  constexpr int words = words_of<V>;
  const Basis &right = nullspace.right, &left = nullspace.of_transpose();
  for (int k = 0; k < right.count; k += words) require_right(row_ratio<V>(A, right.column(k)), k / words);
  for (int k = 0; k < left.count; k += words)
    require_left(column_ratio<V>(A, left.column(k)), k / words, nullspace.left.count > 0, words);
}

/// A function shows no rows: its size is taken from its product with a vector without a pattern, and so is what its transpose
/// does: n^H (A v).
void require_product_to_map(const HostFunction& A, const Nullspace& nullspace, int words) {
  const Basis &right = nullspace.right, &left = nullspace.of_transpose();
  std::vector<double> v(std::size_t(right.rows)), y(v.size()), of_null(v.size());
  for (std::size_t i = 0; i < v.size(); i++) v[i] = scattered(i64(i));
  A(v.data(), y.data());
  const double length = norm(y), size = length / norm(v);
  for (int k = 0; k < right.count; k += words) {
    A(right.column(k), of_null.data());
    require_right(norm(of_null) / size, k / words);
  }
  for (int k = 0; k < left.count; k += words) {
    double parts[2] = {};  // of n^H y, the real and the imaginary one
    for (int part = 0; part < words; part++)
      for (std::size_t i = 0; i < y.size(); i++) parts[part] += left.column(k + part)[i] * y[i];
    require_left(std::hypot(parts[0], parts[1]) / length * std::sqrt(double(right.rows / words)), k / words,
                 nullspace.left.count > 0, words);
  }
}

HostFunction product_with(const hmatrix::HMatrix& matrix) {
  auto product = std::make_shared<hmatrix::HostProduct>(matrix);
  return [product](const double* x, double* y) { product->multiply(x, y); };
}

HostFunction product_with(const hmatrix::ComplexHMatrix& matrix) {
  auto product = std::make_shared<hmatrix::HostProductOf<Number>>(matrix);
  return [product, from = std::vector<Number>(std::size_t(matrix.size())),
          to = std::vector<Number>(std::size_t(matrix.size()))](const double* x, double* y) mutable {
    std::copy_n(x, 2 * from.size(), hmatrix::words(from.data()));
    product->multiply(from.data(), to.data());
    std::copy_n(hmatrix::words(to.data()), 2 * to.size(), y);
  };
}

void require_choice(const Nullspace& given, const Options& options) {
  const bool constant = options.nullspace == "constant";
  if (constant && !given.empty()) bad_argument("nullspace is 'constant', and vectors are given, too: choose one");
  if (!constant && given.empty() && given.left.count > 0) bad_argument("left_nullspace is given without a nullspace");
}

void require_few(const Nullspace& found, i64 n) {
  if (found.right.count >= n) bad_argument("nullspace has as many vectors as the matrix has rows");
  if (found.left.count > 0 && found.left.count != found.right.count)
    bad_argument("nullspace and left_nullspace have different numbers of vectors: " + std::to_string(found.right.count) +
                 " and " + std::to_string(found.left.count));
}

/// That it has the rows of A that are here.
void require_usable(const Basis& basis, const CsrView& A, const char* what) {
  const std::string name = what;
  const i64 rows = A.rows();
  if ((basis.rows != rows && basis.rows != A.words * rows) || basis.first_row != A.first_row ||
      i64(basis.values.size()) != basis.count * basis.rows)
    bad_argument(name + " has vectors of " + std::to_string(basis.rows) + " rows, the matrix " + std::to_string(rows) +
                 (A.is_complex() ? ", of two words each" : ""));
  for (double value : basis.values)
    if (!std::isfinite(value)) bad_argument(name + " holds a NaN or Inf");
}

double dot(const std::vector<double>& a, const double* b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

/// Of the largest of numbers alone: each process has places of its own, for what is positive and for what is negative.
double sum_of_all(Accord& accord, double mine) {
  std::vector<double> parts(std::size_t(2 * accord.count()));
  double* here = parts.data() + 2 * accord.index();
  here[0] = std::max(mine, 0.0), here[1] = std::max(-mine, 0.0);
  parts = accord.most(std::move(parts));
  double sum = 0;
  for (std::size_t p = 0; p < parts.size(); p += 2) sum += parts[p] - parts[p + 1];
  return sum;
}

/// sum of a_ij v_j for each row in view, where v(j) says what v has there.
template <class F>
std::vector<double> times(const CsrView& A, const F& v) {
  std::vector<double> y(std::size_t(A.rows()));
  for (i64 i = A.first_row; i < A.end_row(); i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) y[std::size_t(i - A.first_row)] += A.values[k] * v(A.indices[k]);
  return y;
}

double largest_row(const CsrView& A) {
  double size = 0;
  for (i64 i = A.first_row; i < A.end_row(); i++) {
    double row = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) row += std::abs(A.values[k]);
    size = std::max(size, row);
  }
  return size;
}

/// A v for each column v of a basis, the rows of this process of each. What others have of v comes by an engine of its own,
/// since which one is to solve is not settled yet.
std::vector<std::vector<double>> products(const CsrView& A, const Basis& basis, const Options& options, Accord& accord) {
  std::vector<std::vector<double>> found(std::size_t(basis.count), std::vector<double>(std::size_t(A.rows())));
  Processes* others = accord.processes();
  host::HostEngine engine({.ranks = 1, .timeout = options.timeout}, others ? others->transport(1) : nullptr);
  engine.run([&](Rank& rank) {
    const auto firsts = Communicator(rank, channel).all_gather(std::vector<i64>{A.first_row});
    const CsrOperator by_rows(rank, A, partition_at(A.n, firsts));
    const Vec x = by_rows.operand(rank, "null vector"), y = by_rows.result(rank, "A times it");
    Recorded product = rank.record([&] {
      rank.run(Nothing{}, push(x));
      by_rows.apply(rank, x, y);
    });
    for (int k = 0; k < basis.count; k++) {
      rank.write(x, basis.column(k));
      rank.replay(product);
      rank.read(y, found[std::size_t(k)].data());
    }
  });
  return found;
}

/// Orthonormal columns by words.
void settle(Basis& basis, const System& s, const char* what) {
  if (s.A.is_complex()) basis = word_basis(basis, s.A.n);
  orthonormalise(basis, what, s.A.words);
}

Basis constant(i64 n, i64 first_row, i64 rows) {
  return {1, rows, first_row, std::vector<double>(std::size_t(rows), 1 / std::sqrt(double(n)))};
}

}  // namespace

void require_mapped_to_zero(const CsrView& A, const Nullspace& nullspace) {
  A.is_complex() ? require_rows_to_map<Number>(A, nullspace) : require_rows_to_map<double>(A, nullspace);
}

void require_constant_mapped(double sum, double magnitudes) { require_right(magnitudes > 0 ? sum / magnitudes : 0, 0); }

Nullspace checked_nullspace(const System& s, const Options& options) {
  Nullspace found = s.nullspace;
  require_choice(found, options);
  if (options.nullspace == "constant") found.right = constant(s.A.n, 0, s.A.n);
  if (found.empty()) return {};
  require_usable(found.right, s.A, "nullspace");
  if (found.left.count > 0) require_usable(found.left, s.A, "left_nullspace");
  require_few(found, s.A.n);
  settle(found.right, s, "nullspace");
  settle(found.left, s, "left_nullspace");
  if (s.hmatrix)
    require_product_to_map(product_with(*s.hmatrix), found, s.A.words);
  else if (s.complex_hmatrix)
    require_product_to_map(product_with(*s.complex_hmatrix), found, s.A.words);
  else if (s.product)
    require_product_to_map(s.product, found, s.A.words);
  else if (!s.grid.is_given())  // by whom its levels are made
    require_mapped_to_zero(s.A, found);
  return found;
}

// Of the transpose a process sees its rows' part, which is not the sum: so, as of a function, n^T (A v) is looked at.
void require_mapped_to_zero(const CsrView& A, const Nullspace& nullspace, const Options& options, Accord& accord) {
  if (nullspace.empty()) return;
  const Basis &right = nullspace.right, &left = nullspace.of_transpose();
  using Rows = std::vector<double>;
  const std::vector<Rows> of_null = options.nullspace != "constant"
                                        ? products(A, right, options, accord)
                                        : std::vector<Rows>{times(A, [&](i64) { return right.values[0]; })};
  for (int k = 0; k < right.count; k++) {
    const double worst = largest<double>(of_null[std::size_t(k)].data(), A.rows());
    const auto most = accord.most({worst, largest_row(A), largest<double>(right.column(k), A.rows())});
    require_right(most[1] > 0 ? most[0] / (most[1] * most[2]) : 0, k);
  }
  const std::vector<double> y = times(A, scattered);
  const double length = std::sqrt(sum_of_all(accord, dot(y, y.data())));
  for (int k = 0; k < left.count && length > 0; k++) {
    const double sum = sum_of_all(accord, dot(y, left.column(k)));
    require_left(std::abs(sum) / length * std::sqrt(double(A.n)), k, nullspace.left.count > 0, 1);
  }
}

Nullspace checked_nullspace(const CsrView& A, const Nullspace& given, const Options& options, Accord& accord) {
  Nullspace found = given;
  accord.together([&] {
    require_choice(found, options);
    if (found.right.count > 0) require_usable(found.right, A, "nullspace");
    if (found.left.count > 0) require_usable(found.left, A, "left_nullspace");
  });
  if (options.nullspace == "constant") found.right = constant(A.n, A.first_row, A.rows());
  const double right = found.right.count, left = found.left.count;
  const auto counts = accord.most({right, -right, left, -left});
  if (counts[0] != -counts[1] || counts[2] != -counts[3])
    bad_argument("the processes give different numbers of vectors as nullspace or left_nullspace");
  if (found.empty()) return {};
  require_few(found, A.n);
  const OfAll of_all{[&](double mine) { return sum_of_all(accord, mine); },
                     [&](double mine) { return accord.most({mine})[0]; }};
  orthonormalise(found.right, "nullspace", 1, of_all);
  orthonormalise(found.left, "left_nullspace", 1, of_all);
  require_mapped_to_zero(A, found, options, accord);
  return found;
}

double reachable_norm(const double* b, i64 n, double norm, const Basis& outside) {
  if (outside.count == 0 || on_gpu(b, "b")) return norm;
  double squares = norm * norm;
  for (int k = 0; k < outside.count; k++) {
    double along = 0;
    for (i64 i = 0; i < n; i++) along += outside.column(k)[i] * b[i];
    squares -= along * along;
  }
  return std::sqrt(std::max(squares, 0.0));
}

}  // namespace sordino
