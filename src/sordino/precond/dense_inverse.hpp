// The inverse of a small symmetric matrix, which the last level of multigrid is solved by.
#pragma once
#include "sordino/linalg/csr.hpp"

namespace sordino {

inline constexpr i64 most_inverted = 2048;  // rows: 50 MB of entries

/// All n^2 entries of a generalized inverse of a positive semidefinite matrix: of a singular one, that of its rows but those
/// whose pivots vanish. Cost: about 2 n^3 operations, those of its rows on several threads.
CsrMatrix inverse_of(const CsrView& A);

}  // namespace sordino
