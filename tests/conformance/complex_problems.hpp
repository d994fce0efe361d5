// Complex systems of the three kinds that methods tell apart, and their residuals in long double.
#pragma once
#include <complex>
#include <numbers>

#include "problems.hpp"

namespace complex_problems {

using namespace sordino;
using Value = std::complex<double>;
using Rows = std::vector<std::map<i32, Value>>;

struct Case {
  std::string name, symmetry;
  CsrMatrix A;
  std::vector<double> b, x0;  // [n][2]
};

inline CsrMatrix csr(const Rows& rows) {
  CsrMatrix A;
  A.words = 2;
  A.n = i64(rows.size());
  A.indptr.push_back(0);
  for (auto& row : rows) {
    for (auto& [column, value] : row) {
      A.indices.push_back(column);
      A.values.insert(A.values.end(), {value.real(), value.imag()});
    }
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

/// The Laplacian of a grid whose links carry phases, plus `shift`: Hermitian, and definite where the shift is positive.
inline Rows gauge_laplacian(fresh::Random& random, i32 nx, i32 ny, Value shift) {
  Rows r(std::size_t(nx) * std::size_t(ny));
  auto link = [&](i32 from, i32 to) {
    Value u = std::polar(1.0, random.real(0, 2 * std::numbers::pi));
    r[std::size_t(from)][to] = -u;
    r[std::size_t(to)][from] = -std::conj(u);
  };
  for (i32 k = 0; k < nx * ny; k++) {
    r[std::size_t(k)][k] = 4.0 + shift;
    if (k % nx + 1 < nx) link(k, k + 1);
    if (k / nx + 1 < ny) link(k, k + nx);
  }
  return r;
}

/// Helmholtz with damping on the same grid: A^T = A, with eigenvalues on both sides of the imaginary axis.
inline Rows helmholtz(i32 nx, i32 ny, Value shift) {
  Rows r(std::size_t(nx) * std::size_t(ny));
  for (i32 k = 0; k < nx * ny; k++) {
    r[std::size_t(k)][k] = 4.0 + shift;
    if (k % nx + 1 < nx) r[std::size_t(k)][k + 1] = r[std::size_t(k + 1)][k] = -1;
    if (k / nx + 1 < ny) r[std::size_t(k)][k + nx] = r[std::size_t(k + nx)][k] = -1;
  }
  return r;
}

/// No symmetry; every diagonal entry, of any phase, outweighs its row.
inline Rows general(fresh::Random& random, i64 n, int mean, i64 reach) {
  Rows r(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) {
    auto& row = r[std::size_t(i)];
    for (i64 k = random.whole(1, 2 * mean); k-- > 0;)
      row[i32(std::clamp<i64>(i + random.whole(-reach, reach), 0, n - 1))] = {random.normal(), random.normal()};
    row.erase(i32(i));
    double others = 0;
    for (auto& [column, value] : row) others += std::abs(value);
    row[i32(i)] = std::polar((others + 0.1) * random.real(1, 2), random.real(-1, 1));
  }
  return r;
}

inline Case problem(fresh::Random& random, std::string name, std::string symmetry, const Rows& rows) {
  i64 words = 2 * i64(rows.size());
  return {std::move(name), std::move(symmetry), csr(rows), random.normals(words), random.normals(words)};
}

inline std::vector<Case> all(fresh::Random& random) {
  i32 nx = i32(random.whole(9, 17)), ny = i32(random.whole(9, 17));
  std::vector<Case> p;
  p.push_back(problem(random, "gauge Laplacian", "hermitian", gauge_laplacian(random, nx, ny, 0.3)));
  p.push_back(problem(random, "gauge Laplacian, 7 rows", "hermitian", gauge_laplacian(random, 7, 1, 0.3)));
  p.push_back(problem(random, "Helmholtz", "symmetric", helmholtz(nx, ny, {-0.4, 0.6})));
  p.push_back(problem(random, "general", "general", general(random, random.whole(200, 700), 3, 700)));
  p.push_back(problem(random, "general, banded", "general", general(random, random.whole(1500, 2500), 4, 15)));
  return p;
}

inline bool takes(const MethodEntry& m, const Case& p) {
  if (m.complex == Factors::real) return false;
  if (!m.needs_spd) return true;
  return p.symmetry == (m.complex == Factors::of_numbers ? "symmetric" : "hermitian");
}

/// ||b - A x||_2 in long double, and what rounding may add to one that was recomputed in double.
struct Residual {
  double norm, rounding;
};
inline Residual residual(const CsrMatrix& A, const std::vector<double>& b, const std::vector<double>& x) {
  using Long = std::complex<long double>;
  long double sum = 0, size = 0;
  i64 longest = 0;
  for (i64 i = 0; i < A.n; i++) {
    std::size_t at = 2 * std::size_t(i);
    Long left(b[at], b[at + 1]);
    long double row = std::abs(left);
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
      std::size_t v = 2 * std::size_t(k), c = 2 * std::size_t(A.indices[std::size_t(k)]);
      Long product = Long(A.values[v], A.values[v + 1]) * Long(x[c], x[c + 1]);
      left -= product;
      row += std::abs(product);
    }
    sum += std::norm(left), size += row * row;
    longest = std::max(longest, A.indptr[std::size_t(i) + 1] - A.indptr[std::size_t(i)]);
  }
  return {double(std::sqrt(sum)), double(std::sqrt(size)) * double(2 * longest + 4) * 0x1p-53};
}

}  // namespace complex_problems
