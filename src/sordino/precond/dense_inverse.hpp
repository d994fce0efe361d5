// The inverse of a small symmetric matrix, which the last level of multigrid is solved by.
#pragma once
#include "sordino/linalg/csr.hpp"

namespace sordino {

inline constexpr i64 most_inverted = 2048;  // rows: 50 MB of entries

/// All n^2 entries of a generalized inverse X of a positive semidefinite matrix, symmetric bit by bit: of a regular one the
/// inverse, of a singular one also X v = 0 for each v of A v = 0 (Moore and Penrose's).
///
/// Rows that are coupled, directly or by others, are a part of their own. Its row of the largest diagonal comes last. If the
/// part is singular, as that of a closed box, it is this row's pivot that vanishes, which is the energy of the vector that A
/// maps to zero: all rounding is of the size of the largest diagonal, so what is left of the pivot shows beside that, and does
/// not beside a small one: n units of rounding of it, or, `of_closed`, n times 1e-9, for a coarse matrix of one that
/// is_closed(), which is made of differences of larger numbers. Other pivots are taken to vanish at 1e-12 of their own
/// diagonals.
///
/// Cost: n^3 operations where A is full, about n^2 (b + 64) where its rows have b entries beside the diagonal and what lies
/// between; n^2 words more; on several threads, with the same bits on any number of them.
CsrMatrix inverse_of(const CsrView& A, bool of_closed = false);

/// Whether each row that is coupled adds up to no more than rounding, so that A maps to zero what is constant in all of them,
/// as of a box without open faces; of the rows that are at hand. Cost: a pass over the arrays, which ends with a row that does
/// not, on several threads.
bool is_closed(const CsrView& A);

}  // namespace sordino
