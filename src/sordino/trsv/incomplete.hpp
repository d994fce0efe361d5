// Incomplete factorisations without fill: factors of a sparse matrix on its own pattern, for preconditioning. By one thread.
#pragma once
#include <string>

#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// Rows of a square sparse matrix that somebody else owns: those of row i have columns[begin[i]], ..., in increasing order.
struct SparseRows {
  i64 n = 0;
  const i64* begin = nullptr;    // [n + 1]
  const i32* columns = nullptr;  // [entries]
};

/// ILU(0): values of A become those of L, below the diagonal, whose own is 1, and of U, such that L U has the entries of A
/// wherever A has one (Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 10.4). Cost: of each row its entries
/// times those of rows that it needs. Throws bad_argument with the row where a diagonal entry is missing, a pivot is zero or so
/// small that its reciprocal overflows, or entries overflow; values are then of no use. V: double or Complex<double>.
template <class V>
void ilu0(const SparseRows& A, V* values);

/// IC(0): values of the lower triangle of a Hermitian matrix, whose diagonal is the last entry of each row, become those of L,
/// such that L L^H has them wherever the triangle has one (Meijerink and van der Vorst, 1977). Of entries on the diagonal the
/// real part is taken. Cost and errors as of ilu0(); a pivot that is not positive is refused, too.
template <class V>
void ic0(const SparseRows& lower, V* values);

/// Where a factorisation ended, and why; row -1: it did not.
struct Breakdown {
  i64 row = -1;
  std::string why;
};

/// ilu0() and ic0() for those who have more to say than their errors do: what they refuse is returned. Columns that do not
/// increase are still thrown as bad_argument.
template <class V>
Breakdown try_ilu0(const SparseRows& A, V* values);
template <class V>
Breakdown try_ic0(const SparseRows& lower, V* values);

}  // namespace sordino::trsv
