#include "sordino/hmatrix/low_rank.hpp"

namespace sordino::hmatrix {
namespace {

template <class V>
void subtract(V factor, const V* from, i32 n, V* values) {
  for (i32 i = 0; i < n; i++) values[i] = values[i] - factor * from[i];
}

/// a^H b
template <class V>
V product(const V* a, const V* b, i32 n) {
  V sum{};
  for (i32 i = 0; i < n; i++) sum = sum + conjugate(a[i]) * b[i];
  return sum;
}

}  // namespace

template <class V>
V LowRank<V>::entry(i32 i, i32 j) const {
  V sum{};
  for (i32 k = 0; k < rank; k++) sum = sum + u_of(k)[i] * v_of(k)[j];
  return sum;
}

template <class V>
void LowRank<V>::subtract_row(i32 i, V* values) const {
  for (i32 k = 0; k < rank; k++) subtract(u_of(k)[i], v_of(k), width, values);
}

template <class V>
void LowRank<V>::subtract_column(i32 j, V* values) const {
  for (i32 k = 0; k < rank; k++) subtract(v_of(k)[j], u_of(k), height, values);
}

template <class V>
double LowRank<V>::norm_squared() const {
  double sum = 0;
  for (i32 k = 0; k < rank; k++)
    for (i32 l = 0; l <= k; l++) {
      const V uu = product(u_of(k), u_of(l), height), vv = product(v_of(k), v_of(l), width);
      sum += (k == l ? 1 : 2) * real_part(uu * vv);
    }
  return sum;
}

template struct LowRank<double>;
template struct LowRank<Number>;

}  // namespace sordino::hmatrix
