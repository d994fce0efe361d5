#include "sordino/precond/jacobi.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/complex.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino {

Jacobi::Jacobi(Rank& rank, const CsrView& A, int space, Factors factors)
    : d_(rank.vector("1/diag(A)", space)), space_(space), factors_(factors), host_(std::size_t(rank.space(space).rows)) {
  update_values(rank, A);
}

Vec inverse_diagonal_of(Rank& rank, int space, const double* own) {
  const Vec d = rank.vector("1/diag(A)", space);
  rank.write(d, own);
  return d;
}

void Jacobi::update_values(Rank& rank, const CsrView& A) {
  const i64 words = A.words, first = rank.space(space_).first_row / words;
  const bool numbers = A.is_complex() && factors_ == Factors::of_numbers;
  auto invert = [&](i64 row, double* inverse) {
    const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
    const i32* at = std::lower_bound(begin, end, i32(row));
    const double* entry = A.values + (at - A.indices) * words;
    Complex<double> a = at == end || *at != row ? Complex<double>{} : Complex<double>{entry[0], numbers ? entry[1] : 0};
    if (a.re == 0 && a.im == 0)
      bad_argument("Jacobi: the diagonal of row " + std::to_string(row) + " is zero; use --precond none or another method");
    Complex<double> found = numbers ? ratio({1, 0}, a) : Complex<double>{1 / a.re, 1 / a.re};
    inverse[0] = found.re;
    inverse[words - 1] = words == 1 ? found.re : found.im;
  };
  for_parts(0, i64(host_.size()) / words, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; i++) invert(first + i, host_.data() + i * words);
  });
  rank.write(d_, host_.data());
}

}  // namespace sordino
