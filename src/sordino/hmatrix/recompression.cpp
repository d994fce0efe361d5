#include "sordino/hmatrix/recompression.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sordino::hmatrix {
namespace {

/// Columns one after the other.
struct Matrix {
  i32 rows = 0, columns = 0;
  std::vector<double> values;

  Matrix(i32 r, i32 c) : rows(r), columns(c), values(std::size_t(r) * std::size_t(c)) {}
  double* column(i32 j) { return values.data() + std::size_t(j) * std::size_t(rows); }
  const double* column(i32 j) const { return values.data() + std::size_t(j) * std::size_t(rows); }
};

double dot(const double* a, const double* b, i32 n) { return std::inner_product(a, a + n, b, 0.0); }

/// Householder's factorization of `columns` vectors, rows >= columns: reflectors 1 - w w^T, and R above the diagonal.
class Qr {
 public:
  Qr(const double* vectors, i32 rows, i32 columns) : w_(rows, columns), r_(columns, columns) {
    std::copy(vectors, vectors + w_.values.size(), w_.values.begin());
    for (i32 j = 0; j < columns; j++) {
      for (i32 k = 0; k < j; k++) reflect(k, w_.column(j));
      std::copy(w_.column(j), w_.column(j) + j, r_.column(j));
      r_.column(j)[j] = make_reflector(j);
    }
  }
  const Matrix& r() const { return r_; }
  /// Q c for coefficients [columns].
  void expand(const double* coefficients, double* out) const {
    std::fill(out, out + w_.rows, 0.0);
    std::copy(coefficients, coefficients + w_.columns, out);
    for (i32 k = w_.columns - 1; k >= 0; k--) reflect(k, out);
  }

 private:
  void reflect(i32 k, double* x) const {
    const double* w = w_.column(k) + k;
    const double factor = dot(w, x + k, w_.rows - k);
    for (i32 i = k; i < w_.rows; i++) x[i] -= factor * w[i - k];
  }
  /// From what is left of column j; returns R's diagonal entry.
  double make_reflector(i32 j) {
    double* w = w_.column(j) + j;
    const i32 n = w_.rows - j;
    const double size = std::sqrt(dot(w, w, n));
    if (size == 0) return 0;  // w = 0 reflects nothing
    const double diagonal = w[0] > 0 ? -size : size;
    w[0] -= diagonal;
    const double scale = std::sqrt(2 / dot(w, w, n));
    for (i32 i = 0; i < n; i++) w[i] *= scale;
    return diagonal;
  }

  Matrix w_, r_;
};

/// R_u R_v^T of two upper triangles.
Matrix core(const Matrix& u, const Matrix& v) {
  const i32 n = u.columns;
  Matrix c(n, n);
  for (i32 j = 0; j < n; j++)
    for (i32 k = j; k < n; k++)
      for (i32 i = 0; i <= k; i++) c.column(j)[i] += u.column(k)[i] * v.column(k)[j];
  return c;
}

/// Turns columns p and q of both by one angle.
void rotate(Matrix& m, i32 p, i32 q, double cosine, double sine) {
  double *a = m.column(p), *b = m.column(q);
  for (i32 i = 0; i < m.rows; i++) {
    const double x = a[i], y = b[i];
    a[i] = cosine * x - sine * y;
    b[i] = sine * x + cosine * y;
  }
}

/// One-sided Jacobi: c turns into W S, and returned is Z of c = W S Z^T.
Matrix singular_vectors(Matrix& c) {
  constexpr int most_sweeps = 40;
  constexpr double rounding = 1e-15;
  Matrix z(c.columns, c.columns);
  for (i32 j = 0; j < z.columns; j++) z.column(j)[j] = 1;
  for (int sweep = 0, turned = 1; turned && sweep < most_sweeps; sweep++) {
    turned = 0;
    for (i32 p = 0; p < c.columns; p++)
      for (i32 q = p + 1; q < c.columns; q++) {
        const double pp = dot(c.column(p), c.column(p), c.rows), qq = dot(c.column(q), c.column(q), c.rows);
        const double pq = dot(c.column(p), c.column(q), c.rows);
        if (std::abs(pq) <= rounding * std::sqrt(pp) * std::sqrt(qq)) continue;
        turned = 1;
        const double zeta = (qq - pp) / (2 * pq);
        const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, tangent);
        rotate(c, p, q, cosine, cosine * tangent);
        rotate(z, p, q, cosine, cosine * tangent);
      }
  }
  return z;
}

}  // namespace

double recompress(LowRank& sum, double distance) {
  if (sum.rank == 0) return 0;
  const Qr u(sum.u.data(), sum.height, sum.rank), v(sum.v.data(), sum.width, sum.rank);
  Matrix left = core(u.r(), v.r());
  const Matrix right = singular_vectors(left);
  std::vector<double> squares;
  for (i32 k = 0; k < sum.rank; k++) squares.push_back(dot(left.column(k), left.column(k), sum.rank));
  std::vector<i32> order(squares.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](i32 a, i32 b) { return squares[std::size_t(a)] > squares[std::size_t(b)]; });
  double left_out = 0;
  i32 rank = sum.rank;
  for (; rank > 0; rank--) {
    const double more = left_out + squares[std::size_t(order[std::size_t(rank - 1)])];
    if (!(more <= distance * distance)) break;
    left_out = more;
  }
  sum.rank = rank;
  sum.u.resize(std::size_t(rank) * std::size_t(sum.height));
  sum.v.resize(std::size_t(rank) * std::size_t(sum.width));
  for (i32 k = 0; k < rank; k++) {
    u.expand(left.column(order[std::size_t(k)]), sum.u_of(k));
    v.expand(right.column(order[std::size_t(k)]), sum.v_of(k));
  }
  return left_out;
}

}  // namespace sordino::hmatrix
