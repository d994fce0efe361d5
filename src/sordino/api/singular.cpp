#include "sordino/api/singular.hpp"

#include "sordino/api/callers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/host_product.hpp"

namespace sordino {
namespace {

constexpr double zero = 1e-8;  // ||A n|| / (||A|| ||n||) below which A maps n to zero

double largest(const double* v, i64 n) {
  double most = 0;
  for (i64 i = 0; i < n; i++) most = std::max(most, std::abs(v[i]));
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

void require_right(double ratio, int k) {
  if (!(ratio <= zero))
    bad_argument("nullspace: A does not map vector " + std::to_string(k) +
                 " (counted from 0) to zero: ||A n|| / (||A|| ||n||) = " + figure(ratio));
}

void require_left(double ratio, int k, bool given) {
  if (ratio <= zero) return;
  std::string sentence = "the transpose of A does not map vector " + std::to_string(k) +
                         " (counted from 0) to zero: ||A^T n|| / (||A|| ||n||) = " + figure(ratio);
  bad_argument(given ? "left_nullspace: " + sentence
                     : "nullspace: A maps it to zero, but " + sentence +
                           "; A is not symmetric, so its transpose has another nullspace: give left_nullspace, too");
}

/// In the largest norm: ||A n|| / (||A|| ||n||) of the rows in view.
double row_ratio(const CsrView& A, const double* v) {
  double worst = 0, size = 0;
  for (i64 i = A.first_row; i < A.end_row(); i++) {
    double sum = 0, row = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      sum += A.values[k] * v[A.indices[k]];
      row += std::abs(A.values[k]);
    }
    worst = std::max(worst, std::abs(sum)), size = std::max(size, row);
  }
  return size > 0 ? worst / (size * largest(v, A.n)) : 0;
}

double column_ratio(const CsrView& A, const double* v) {
  std::vector<double> sums(std::size_t(A.n)), columns(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      sums[std::size_t(A.indices[k])] += A.values[k] * v[i];
      columns[std::size_t(A.indices[k])] += std::abs(A.values[k]);
    }
  double size = largest(columns.data(), A.n);
  return size > 0 ? largest(sums.data(), A.n) / (size * largest(v, A.n)) : 0;
}

/// A function shows no rows: its size is taken from its product with a vector without a pattern, and so is what its transpose
/// does: n^T (A v).
void require_mapped_to_zero(const HostFunction& A, const Nullspace& nullspace) {
  const Basis &right = nullspace.right, &left = nullspace.of_transpose();
  std::vector<double> v(std::size_t(right.rows)), y(v.size());
  for (std::size_t i = 0; i < v.size(); i++) v[i] = scattered(i64(i));
  A(v.data(), y.data());
  const double length = norm(y), size = length / norm(v);
  for (int k = 0; k < left.count; k++) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); i++) sum += left.column(k)[i] * y[i];
    require_left(std::abs(sum) / length * std::sqrt(double(y.size())), k, nullspace.left.count > 0);
  }
  for (int k = 0; k < right.count; k++) {
    A(right.column(k), y.data());
    require_right(norm(y) / size, k);
  }
}

HostFunction product_with(const hmatrix::HMatrix& matrix) {
  auto product = std::make_shared<hmatrix::HostProduct>(matrix);
  return [product](const double* x, double* y) { product->multiply(x, y); };
}

void require_usable(const Basis& basis, i64 n, const char* what) {
  std::string name = what;
  if (basis.rows != n || basis.first_row != 0 || i64(basis.values.size()) != basis.count * n)
    bad_argument(name + " has vectors of " + std::to_string(basis.rows) + " rows, the matrix " + std::to_string(n));
  if (basis.count >= n) bad_argument(name + " has as many vectors as the matrix has rows");
  for (double value : basis.values)
    if (!std::isfinite(value)) bad_argument(name + " holds a NaN or Inf");
}

Basis constant(i64 n, i64 first_row, i64 rows) {
  return {1, rows, first_row, std::vector<double>(std::size_t(rows), 1 / std::sqrt(double(n)))};
}

}  // namespace

void require_mapped_to_zero(const CsrView& A, const Nullspace& nullspace) {
  for (int k = 0; k < nullspace.right.count; k++) require_right(row_ratio(A, nullspace.right.column(k)), k);
  const Basis& left = nullspace.of_transpose();
  for (int k = 0; k < left.count; k++) require_left(column_ratio(A, left.column(k)), k, nullspace.left.count > 0);
}

Nullspace checked_nullspace(const System& s, const Options& options) {
  Nullspace found = s.nullspace;
  i64 n = s.A.n;
  if (s.A.words != 1 && (options.nullspace != "none" || !found.empty()))
    throw Error(Errc::unsupported, "nullspaces of complex systems are not supported");
  if (options.nullspace == "constant") {
    if (!found.empty()) bad_argument("nullspace is 'constant', and vectors are given, too: choose one");
    found.right = constant(n, 0, n);
  }
  if (found.empty() && found.left.count > 0) bad_argument("left_nullspace is given without a nullspace");
  if (found.empty()) return {};
  require_usable(found.right, n, "nullspace");
  if (found.left.count > 0) require_usable(found.left, n, "left_nullspace");
  if (found.left.count > 0 && found.left.count != found.right.count)
    bad_argument("nullspace and left_nullspace have different numbers of vectors: " + std::to_string(found.right.count) +
                 " and " + std::to_string(found.left.count));
  orthonormalise(found.right, "nullspace");
  orthonormalise(found.left, "left_nullspace");
  if (s.hmatrix)
    require_mapped_to_zero(product_with(*s.hmatrix), found);
  else if (s.product)
    require_mapped_to_zero(s.product, found);
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
  require_left(squares > 0 ? std::abs(sum) / std::sqrt(squares) : 0, 0, false);
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
