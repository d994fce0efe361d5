#include "sordino/api/inspect.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

const double* entry(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.indptr[row], *end = A.indices + A.indptr[row + 1];
  const i32* at = std::lower_bound(begin, end, i32(column));
  return at != end && *at == column ? A.values + (at - A.indices) : nullptr;
}

}  // namespace

bool is_symmetric(const CsrView& A) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) {
      if (A.indices[k] == i) continue;
      const double* mirror = entry(A, A.indices[k], i);
      if (!mirror || std::abs(*mirror - A.values[k]) > 1e-12 * std::abs(A.values[k])) return false;
    }
  return true;
}

i64 zero_diagonal(const CsrView& A) {
  for (i64 i = 0; i < A.n; i++) {
    const double* d = entry(A, i, i);
    if (!d || *d == 0) return i;
  }
  return -1;
}

bool positive_diagonal(const CsrView& A) {
  for (i64 i = 0; i < A.n; i++) {
    const double* d = entry(A, i, i);
    if (!d || *d <= 0) return false;
  }
  return true;
}

std::string choose_method(const CsrView& A, const std::string& asked) {
  if (asked != "auto") return asked;
  return positive_diagonal(A) && is_symmetric(A) ? "cg" : "bicgstab";
}

std::string choose_preconditioner(const CsrView& A, const std::string& asked) {
  if (asked == "none") return asked;
  i64 row = zero_diagonal(A);
  if (asked == "auto") return row < 0 ? "jacobi" : "none";
  if (row >= 0)
    bad_argument("jacobi needs a nonzero diagonal, and that of row " + std::to_string(row) + " is zero: use precond none");
  return asked;
}

}  // namespace sordino
