#include "sordino/hmatrix/recompression.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sordino::hmatrix {
namespace {

/// Columns one after the other.
template <class V>
struct Matrix {
  i32 rows = 0, columns = 0;
  std::vector<V> values;

  Matrix(i32 r, i32 c) : rows(r), columns(c), values(std::size_t(r) * std::size_t(c)) {}
  V* column(i32 j) { return values.data() + std::size_t(j) * std::size_t(rows); }
  const V* column(i32 j) const { return values.data() + std::size_t(j) * std::size_t(rows); }
};

/// a^H b
template <class V>
V dot(const V* a, const V* b, i32 n) {
  V sum{};
  for (i32 i = 0; i < n; i++) sum = sum + conjugate(a[i]) * b[i];
  return sum;
}

template <class V>
double square(const V* a, i32 n) {
  return real_part(dot(a, a, n));
}

/// Householder's factorization of `columns` vectors, rows >= columns: reflectors 1 - w w^H, and R above the diagonal.
template <class V>
class Qr {
 public:
  Qr(const V* vectors, i32 rows, i32 columns) : w_(rows, columns), r_(columns, columns) {
    std::copy(vectors, vectors + w_.values.size(), w_.values.begin());
    for (i32 j = 0; j < columns; j++) {
      for (i32 k = 0; k < j; k++) reflect(k, w_.column(j));
      std::copy(w_.column(j), w_.column(j) + j, r_.column(j));
      r_.column(j)[j] = make_reflector(j);
    }
  }
  const Matrix<V>& r() const { return r_; }
  /// Q c for coefficients [columns].
  void expand(const V* coefficients, V* out) const {
    std::fill(out, out + w_.rows, V{});
    std::copy(coefficients, coefficients + w_.columns, out);
    for (i32 k = w_.columns - 1; k >= 0; k--) reflect(k, out);
  }

 private:
  void reflect(i32 k, V* x) const {
    const V* w = w_.column(k) + k;
    const V factor = dot(w, x + k, w_.rows - k);
    for (i32 i = k; i < w_.rows; i++) x[i] = x[i] - factor * w[i - k];
  }
  /// From what is left of column j; returns R's diagonal entry.
  V make_reflector(i32 j) {
    V* w = w_.column(j) + j;
    const i32 n = w_.rows - j;
    const double size = std::sqrt(square(w, n));
    if (size == 0) return {};  // w = 0 reflects nothing
    const V diagonal = direction(w[0]) * -size;
    w[0] = w[0] - diagonal;
    const double scale = std::sqrt(2 / square(w, n));
    for (i32 i = 0; i < n; i++) w[i] = w[i] * scale;
    return diagonal;
  }

  Matrix<V> w_, r_;
};

/// R_u R_v^T of two upper triangles.
template <class V>
Matrix<V> core(const Matrix<V>& u, const Matrix<V>& v) {
  const i32 n = u.columns;
  Matrix<V> c(n, n);
  for (i32 j = 0; j < n; j++)
    for (i32 k = j; k < n; k++)
      for (i32 i = 0; i <= k; i++) c.column(j)[i] = c.column(j)[i] + u.column(k)[i] * v.column(k)[j];
  return c;
}

/// Turns columns p and q by one angle, of whose sine a complex matrix has a direction, too.
template <class V>
void rotate(Matrix<V>& m, i32 p, i32 q, double cosine, V sine) {
  V *a = m.column(p), *b = m.column(q);
  for (i32 i = 0; i < m.rows; i++) {
    const V x = a[i], y = b[i];
    a[i] = x * cosine - conjugate(sine) * y;
    b[i] = sine * x + y * cosine;
  }
}

/// One-sided Jacobi: c turns into W S, and returned is Z of c = W S Z^T, Z the conjugate of what turns c.
template <class V>
Matrix<V> singular_vectors(Matrix<V>& c) {
  constexpr int most_sweeps = 40;
  constexpr double rounding = 1e-15;
  Matrix<V> z(c.columns, c.columns);
  for (i32 j = 0; j < z.columns; j++) z.column(j)[j] = V{1};
  for (int sweep = 0, turned = 1; turned && sweep < most_sweeps; sweep++) {
    turned = 0;
    for (i32 p = 0; p < c.columns; p++)
      for (i32 q = p + 1; q < c.columns; q++) {
        const double pp = square(c.column(p), c.rows), qq = square(c.column(q), c.rows);
        const V product = dot(c.column(p), c.column(q), c.rows);
        const double pq = magnitude(product);
        if (pq <= rounding * std::sqrt(pp) * std::sqrt(qq)) continue;
        turned = 1;
        const double zeta = (qq - pp) / (2 * pq);
        const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
        const double cosine = 1 / std::hypot(1.0, tangent);
        const V sine = direction(product) * (cosine * tangent);
        rotate(c, p, q, cosine, sine);
        rotate(z, p, q, cosine, conjugate(sine));
      }
  }
  return z;
}

}  // namespace

template <class V>
double recompress(LowRank<V>& sum, double distance) {
  if (sum.rank == 0) return 0;
  const Qr<V> u(sum.u.data(), sum.height, sum.rank), v(sum.v.data(), sum.width, sum.rank);
  Matrix<V> left = core(u.r(), v.r());
  const Matrix<V> right = singular_vectors(left);
  std::vector<double> squares;
  for (i32 k = 0; k < sum.rank; k++) squares.push_back(square(left.column(k), sum.rank));
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

template double recompress(LowRank<double>&, double);
template double recompress(LowRank<Number>&, double);

}  // namespace sordino::hmatrix
