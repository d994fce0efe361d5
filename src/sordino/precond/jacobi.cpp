#include "sordino/precond/jacobi.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/complex.hpp"

namespace sordino {

Jacobi::Jacobi(Rank& rank, const CsrView& A, int space, Factors factors)
    : d_(rank.vector("1/diag(A)", space)), space_(space), factors_(factors), host_(std::size_t(rank.space(space).rows)) {
  update_values(rank, A);
}

void Jacobi::update_values(Rank& rank, const CsrView& A) {
  const std::size_t words = std::size_t(A.words);
  i64 first = rank.space(space_).first_row / A.words;
  for (std::size_t i = 0; i < host_.size() / words; i++) {
    i64 row = first + i64(i);
    const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
    const i32* at = std::lower_bound(begin, end, i32(row));
    const double* entry = A.values + (at - A.indices) * A.words;
    bool numbers = A.is_complex() && factors_ == Factors::of_numbers;
    Complex<double> a = at == end || *at != row ? Complex<double>{} : Complex<double>{entry[0], numbers ? entry[1] : 0};
    if (a.re == 0 && a.im == 0)
      bad_argument("Jacobi: the diagonal of row " + std::to_string(row) + " is zero; use --precond none or another method");
    Complex<double> inverse = numbers ? ratio({1, 0}, a) : Complex<double>{1 / a.re, 1 / a.re};
    host_[i * words] = inverse.re;
    host_[i * words + words - 1] = words == 1 ? inverse.re : inverse.im;
  }
  rank.write(d_, host_.data());
}

}  // namespace sordino
