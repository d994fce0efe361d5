// Compressed sparse rows: the user's matrix as a view, and the slice of it that one rank holds.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

/// A square matrix in CSR that somebody else owns, or consecutive rows of it. Columns of a row in increasing order.
struct CsrView {
  i64 n = 0;                       // rows and columns of the matrix
  const i64* indptr = nullptr;     // [rows() + 1]
  const i32* indices = nullptr;    // [nnz]
  const double* values = nullptr;  // [nnz][words]

  i64 first_row = 0;  // of those held
  i64 held = -1;      // how many rows; -1: all n
  int words = 1;      // of a value, and of a row of vectors: 1 real, 2 real and imaginary part

  i64 rows() const { return held < 0 ? n : held; }
  i64 end_row() const { return first_row + rows(); }
  i64 begin(i64 row) const {
    return indptr[row - first_row];
  }  // its first entry; rows are known by their numbers in the matrix
  i64 nnz() const { return indptr[rows()]; }
  bool is_complex() const { return words == 2; }
};

/// Owned arrays of the same shape, for generators and C++ users.
struct CsrMatrix {
  i64 n = 0;
  std::vector<i64> indptr;
  std::vector<i32> indices;
  std::vector<double> values;
  int words = 1;

  CsrView view() const {
    return {.n = n, .indptr = indptr.data(), .indices = indices.data(), .values = values.data(), .words = words};
  }
};

/// Throws bad_argument with one sentence if the arrays are not a usable square matrix, or rows of one: empty, indices out of
/// range or not increasing, a row without entries, NaN or Inf. Cost: one pass over the arrays.
void validate(const CsrView& A);
/// The part of validate() that update_values() repeats.
void validate_values(const CsrView& A, const double* values);

}  // namespace sordino
