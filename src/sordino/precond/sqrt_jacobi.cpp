#include "sordino/precond/sqrt_jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

double diagonal_entry(const CsrView& A, i64 row) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* at = std::lower_bound(begin, end, i32(row));
  return at != end && *at == row ? A.values[at - A.indices] : 0;
}

}  // namespace

void require_positive_diagonal(const CsrView& A) {
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++)
      if (double d = diagonal_entry(A, i); !(d > 0 && std::isfinite(d) && std::isfinite(1 / d)))
        bad_argument("sqrt-jacobi takes the square roots of the diagonal, and that of row " + std::to_string(i) +
                     " is not positive: use precond jacobi or none");
  });
}

ScaledMatrix::ScaledMatrix(const CsrView& A) : pattern_(A), s_(std::size_t(A.rows())), values_(std::size_t(A.nnz())) {
  update_values(A);
}

void ScaledMatrix::update_values(const CsrView& A) {
  require_positive_diagonal(A);
  std::mutex mutex;
  least_ = std::numeric_limits<double>::infinity(), most_ = 0;
  for_parts(0, A.n, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++) s_[std::size_t(i)] = 1 / std::sqrt(diagonal_entry(A, i));
    const auto [least, most] = std::minmax_element(s_.begin() + first, s_.begin() + last);
    std::lock_guard lock(mutex);
    least_ = std::min(least_, *least), most_ = std::max(most_, *most);
  });
  for_parts(0, A.n, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++)
      for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
        const i64 j = A.indices[k];
        values_[std::size_t(k)] = i == j ? 1 : A.values[k] * (s_[std::size_t(i)] * s_[std::size_t(j)]);
      }
  });
}

CsrView ScaledMatrix::view() const {
  CsrView scaled = pattern_;
  scaled.values = values_.data();
  return scaled;
}

SqrtJacobi::SqrtJacobi(Rank& rank, int space, const ScaledMatrix& A) : space_(space) {
  scaling_.S = rank.vector("diag(A)^-1/2", space);
  update_values(rank, A);
}

void SqrtJacobi::update_values(Rank& rank, const ScaledMatrix& A) {
  rank.write(scaling_.S, A.factors().data() + rank.space(space_).first_row);
  scaling_.least = A.least(), scaling_.most = A.most();
}

}  // namespace sordino
