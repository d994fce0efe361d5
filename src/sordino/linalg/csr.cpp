#include "sordino/linalg/csr.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/taken_rows.hpp"

namespace sordino {
namespace {

void validate_rows(const CsrView& A, i64 first, i64 last) {
  for (i64 i = first; i < last; i++) {
    i64 begin = A.begin(i), end = A.begin(i + 1);
    if (end == begin) bad_argument("row " + std::to_string(i) + " of the matrix is empty: the matrix is singular");
    for (i64 k = begin; k < end; k++) {
      if (A.indices[k] < 0 || A.indices[k] >= A.n)
        bad_argument("column index " + std::to_string(A.indices[k]) + " in row " + std::to_string(i) +
                     " is out of range (n = " + std::to_string(A.n) + ")");
      if (k > begin && A.indices[k] <= A.indices[k - 1])
        bad_argument("columns of row " + std::to_string(i) + " are not in increasing order");
    }
  }
}

}  // namespace

void validate(const CsrView& A) {
  if (A.n <= 0) bad_argument("the matrix is empty");
  if (A.n * A.words >= std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported,
                std::string("more than ") + (A.is_complex() ? "2^30 complex" : "2^31") + " rows are not supported");
  if (A.indptr[0] != 0) bad_argument("indptr must begin with 0");
  if (take_rows(GivenRows<i64, i32>{A.rows(), A.n, A.indptr, A.indices, A.values, A.nnz(), A.words}, {})) return;
  for (i64 i = A.first_row; i < A.end_row(); i++)  // before any of them is followed
    if (A.begin(i + 1) < A.begin(i)) bad_argument("indptr decreases at row " + std::to_string(i));
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) { validate_rows(A, first, last); });
  validate_values(A, A.values);
}

void validate_values(const CsrView& A, const double* values) {
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++)
      for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
        if (!std::isfinite(values[k * A.words]) || !std::isfinite(values[k * A.words + A.words - 1]))
          bad_argument("the matrix holds a NaN or Inf at row " + std::to_string(i) + ", column " +
                       std::to_string(A.indices[k]));
  });
}

}  // namespace sordino
