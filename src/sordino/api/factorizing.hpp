// Incomplete factorizations that parts have as preconditioners: when they fit a method, how all ranks make them, and what is
// said of a pivot that is refused.
#pragma once
#include <functional>
#include <vector>

#include "sordino/api/part.hpp"

namespace sordino {

/// Throws, with ic0 or ilu0 as the choice's preconditioner, where the method needs a symmetric M and ilu0 is none, and where
/// the matrix is not symmetric, of which ic0 takes the lower triangle alone. `is_symmetric` is asked of ic0 only.
void require_incomplete_fits(const Choice& choice, const std::function<bool()>& is_symmetric);

/// Collective. Factorizes the tiles of block-ilu, or the ranks' rows for ic0 and ilu0, if that is the preconditioner. Returns
/// the first row of the matrix whose pivot is refused, on all ranks the same; -1: there is none.
i64 factorize(Rank& rank, const Part& part, const CsrView& A);

/// Throws bad_argument about such a row, if there is one.
void require_pivots(i64 refused_row, const Choice& choice);

/// New values, by all ranks of all processes, which hold `parts` each. Throws, in all alike, where a pivot is refused; then the
/// factors are those of `before` again.
void refactorize(Engine& engine, const std::vector<Part>& parts, const Choice& choice, const CsrView& updated,
                 const CsrView& before);

}  // namespace sordino
