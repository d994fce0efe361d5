// Random matrices of awkward kinds, and references in long double.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "unit/fresh.hpp"

namespace matrices {

using namespace sordino;
using Rows = std::vector<std::map<i32, double>>;

inline CsrMatrix csr(const Rows& rows) {
  CsrMatrix A;
  A.n = i64(rows.size());
  A.indptr.push_back(0);
  for (auto& row : rows) {
    for (auto& [column, value] : row) A.indices.push_back(column), A.values.push_back(value);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

inline Rows rows(const CsrMatrix& A) {
  Rows r(static_cast<std::size_t>(A.n));
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      r[std::size_t(i)][A.indices[std::size_t(k)]] = A.values[std::size_t(k)];
  return r;
}

/// No symmetry, no diagonal to speak of; every row has 1 to 2 `mean` entries anywhere within `reach` of the diagonal.
inline CsrMatrix scattered(fresh::Random& random, i64 n, int mean, i64 reach) {
  Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++)
    for (i64 k = random.whole(1, 2 * mean); k-- > 0;)
      r[std::size_t(i)][i32(std::clamp<i64>(i + random.whole(-reach, reach), 0, n - 1))] = random.normal();
  return csr(r);
}

inline CsrMatrix diagonal(fresh::Random& random, i64 n) {
  Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) r[std::size_t(i)][i32(i)] = random.real(0.5, 2);
  return csr(r);
}

/// A few full rows and columns among short ones.
inline CsrMatrix arrows(fresh::Random& random, i64 n) {
  Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) r[std::size_t(i)][i32(i)] = random.normal();
  for (int k = 0; k < 3; k++) {
    i64 row = random.whole(0, n - 1), column = random.whole(0, n - 1);
    for (i64 j = 0; j < n; j++) r[std::size_t(row)][i32(j)] = random.normal(), r[std::size_t(j)][i32(column)] = random.normal();
  }
  return csr(r);
}

inline CsrMatrix dense(fresh::Random& random, i64 n) {
  Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++)
    for (i64 j = 0; j < n; j++) r[std::size_t(i)][i32(j)] = random.normal();
  return csr(r);
}

/// The diagonal is made larger than the rest of its row by `margin`, times a factor that varies over `spread`.
inline CsrMatrix dominant(fresh::Random& random, const CsrMatrix& A, double margin, double spread) {
  Rows r = rows(A);
  for (std::size_t i = 0; i < r.size(); i++) {
    double others = 0;
    for (auto& [column, value] : r[i])
      if (column != i32(i)) others += std::abs(value);
    r[i][i32(i)] = (others + margin) * random.real(1, spread);
  }
  return csr(r);
}

/// (A + A^T) / 2, so that a dominant positive diagonal makes it SPD.
inline CsrMatrix symmetric(const CsrMatrix& A) {
  Rows r = rows(A), s(r.size());
  for (std::size_t i = 0; i < r.size(); i++)
    for (auto& [column, value] : r[i]) s[i][column] += 0.5 * value, s[std::size_t(column)][i32(i)] += 0.5 * value;
  return csr(s);
}

inline CsrMatrix spd(fresh::Random& random, i64 n, int mean, i64 reach, double spread = 3) {
  CsrMatrix S = symmetric(scattered(random, n, mean, reach));
  Rows r = rows(S);
  for (std::size_t i = 0; i < r.size(); i++) {
    double others = 0;
    for (auto& [column, value] : r[i])
      if (column != i32(i)) others += std::abs(value);
    r[i][i32(i)] = (others + 0.05) * random.real(1, spread);
  }
  return csr(r);
}

inline CsrMatrix nonsymmetric(fresh::Random& random, i64 n, int mean, i64 reach) {
  return dominant(random, scattered(random, n, mean, reach), 0.1, 2);
}

struct Named {
  std::string name;
  CsrMatrix A;
};

/// Kinds of matrices of n rows that have broken products before.
inline std::vector<Named> zoo(fresh::Random& random, i64 n) {
  std::vector<Named> all;
  all.push_back({"scattered", scattered(random, n, 4, n)});
  all.push_back({"banded", scattered(random, n, 3, 2)});
  all.push_back({"diagonal", diagonal(random, n)});
  all.push_back({"arrows", arrows(random, n)});
  if (n <= 100) all.push_back({"dense", dense(random, n)});
  return all;
}

/// A x in long double, and for each row the sum of |a x|, which bounds what rounding may do.
struct Exact {
  std::vector<long double> y, size;
};
inline Exact exact_product(const CsrView& A, const std::vector<double>& x) {
  Exact e;
  for (i64 i = 0; i < A.n; i++) {
    long double s = 0, size = 0;
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) {
      long double p = (long double)A.values[k] * (long double)x[std::size_t(A.indices[k])];
      s += p, size += std::abs(p);
    }
    e.y.push_back(s), e.size.push_back(size);
  }
  return e;
}

/// ||b - A x||_2 in long double.
inline double exact_residual(const CsrView& A, const std::vector<double>& b, const std::vector<double>& x) {
  auto e = exact_product(A, x);
  long double s = 0;
  for (std::size_t i = 0; i < b.size(); i++) {
    long double d = (long double)b[i] - e.y[i];
    s += d * d;
  }
  return double(std::sqrt(s));
}

inline double norm(const std::vector<double>& v) {
  long double s = 0;
  for (double x : v) s += (long double)x * (long double)x;
  return double(std::sqrt(s));
}

}  // namespace matrices
