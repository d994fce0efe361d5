// Parts of a matrix's rows that are coupled far more strongly inside than with the rest, as bubbles of the light phase are in
// the pressure equation of two phases. A vector that is 1 on such a part, and 0 elsewhere, is nearly in the kernel of
// diag(A)^-1 A: no smoother sees it, and coarse levels must tell parts from each other.
#pragma once
#include "sordino/linalg/csr.hpp"

namespace sordino {

/// How many such parts there are: two rows or more, joined by couplings that are a tenth of the largest one of both, whose
/// block of A adds up to less than a hundredth of its diagonal. All rows are to be at hand. Cost: two passes over the arrays,
/// on one thread.
i64 count_stiff_parts(const CsrView& A);

}  // namespace sordino
