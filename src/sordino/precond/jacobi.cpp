#include "sordino/precond/jacobi.hpp"

#include <algorithm>
#include <string>

namespace sordino {

Jacobi::Jacobi(Rank& rank, const CsrView& A, int space)
    : d_(rank.vector("1/diag(A)", space)), space_(space), host_(std::size_t(rank.space(space).rows)) {
  update_values(rank, A);
}

void Jacobi::update_values(Rank& rank, const CsrView& A) {
  i64 first = rank.space(space_).first_row;
  for (std::size_t i = 0; i < host_.size(); i++) {
    i64 row = first + i64(i);
    const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
    const i32* at = std::lower_bound(begin, end, i32(row));
    if (at == end || *at != row || A.values[at - A.indices] == 0)
      bad_argument("Jacobi: the diagonal of row " + std::to_string(row) + " is zero; use --precond none or another method");
    host_[i] = 1.0 / A.values[at - A.indices];
  }
  rank.write(d_, host_.data());
}

}  // namespace sordino
