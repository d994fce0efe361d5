#include "sordino/api/singular.hpp"

#include "sordino/api/callers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/linalg/word_basis.hpp"

namespace sordino {
namespace {

using hmatrix::Number, hmatrix::words_of;

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

void require_usable(const Basis& basis, const System& s, const char* what) {
  std::string name = what;
  const i64 n = s.A.n;
  if ((basis.rows != n && basis.rows != s.words()) || basis.first_row != 0 ||
      i64(basis.values.size()) != basis.count * basis.rows)
    bad_argument(name + " has vectors of " + std::to_string(basis.rows) + " rows, the matrix " + std::to_string(n) +
                 (s.A.is_complex() ? ", of two words each" : ""));
  if (basis.count >= n) bad_argument(name + " has as many vectors as the matrix has rows");
  for (double value : basis.values)
    if (!std::isfinite(value)) bad_argument(name + " holds a NaN or Inf");
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

Nullspace checked_nullspace(const System& s, const Options& options) {
  Nullspace found = s.nullspace;
  if (options.nullspace == "constant") {
    if (!found.empty()) bad_argument("nullspace is 'constant', and vectors are given, too: choose one");
    found.right = constant(s.A.n, 0, s.A.n);
  }
  if (found.empty() && found.left.count > 0) bad_argument("left_nullspace is given without a nullspace");
  if (found.empty()) return {};
  require_usable(found.right, s, "nullspace");
  if (found.left.count > 0) require_usable(found.left, s, "left_nullspace");
  if (found.left.count > 0 && found.left.count != found.right.count)
    bad_argument("nullspace and left_nullspace have different numbers of vectors: " + std::to_string(found.right.count) +
                 " and " + std::to_string(found.left.count));
  settle(found.right, s, "nullspace");
  settle(found.left, s, "left_nullspace");
  if (s.hmatrix)
    require_product_to_map(product_with(*s.hmatrix), found, s.A.words);
  else if (s.complex_hmatrix)
    require_product_to_map(product_with(*s.complex_hmatrix), found, s.A.words);
  else if (s.product)
    require_product_to_map(s.product, found, s.A.words);
  else
    require_mapped_to_zero(s.A, found);
  return found;
}

// A process sees its rows alone: of the columns it is told the sum of the entries of A v, whose parts go to all as numbers that
// are not negative, since the largest is all that can be asked for.
Nullspace checked_nullspace(const CsrView& A, const Options& options, Accord& accord) {
  if (options.nullspace != "constant") return {};
  double worst = 0, size = 0, sum = 0, squares = 0;
  for (i64 i = A.first_row; i < A.end_row(); i++) {
    double of_one = 0, row = 0, of_v = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      of_one += A.values[k], row += std::abs(A.values[k]);
      of_v += A.values[k] * scattered(A.indices[k]);
    }
    worst = std::max(worst, std::abs(of_one)), size = std::max(size, row);
    sum += of_v, squares += of_v * of_v;
  }
  auto most = accord.most({worst, size});
  std::vector<double> parts(std::size_t(3 * accord.count()));
  double* mine = parts.data() + 3 * accord.index();
  mine[0] = std::max(sum, 0.0), mine[1] = std::max(-sum, 0.0), mine[2] = squares;
  parts = accord.most(std::move(parts));
  sum = squares = 0;
  for (std::size_t p = 0; p < parts.size(); p += 3) sum += parts[p] - parts[p + 1], squares += parts[p + 2];
  require_right(most[0] / most[1], 0);
  require_left(squares > 0 ? std::abs(sum) / std::sqrt(squares) : 0, 0, false, 1);
  return {.right = constant(A.n, A.first_row, A.rows())};
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
