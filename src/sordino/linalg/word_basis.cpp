#include "sordino/linalg/word_basis.hpp"

namespace sordino {

Basis word_basis(const Basis& given, i64 n) {
  const bool real = given.rows == n;
  Basis basis{2 * given.count, 2 * n, 0, std::vector<double>(std::size_t(4 * given.count * n))};
  for (int k = 0; k < given.count; k++) {
    const double* v = given.column(k);
    double *itself = basis.column(2 * k), *turned = basis.column(2 * k + 1);
    for (i64 i = 0; i < n; i++) {
      const double re = real ? v[i] : v[2 * i], im = real ? 0 : v[2 * i + 1];
      itself[2 * i] = re, itself[2 * i + 1] = im;
      turned[2 * i] = -im, turned[2 * i + 1] = re;
    }
  }
  return basis;
}

}  // namespace sordino
