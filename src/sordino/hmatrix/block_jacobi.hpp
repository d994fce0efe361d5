// Block Jacobi of an H-matrix: the inverse of its diagonal leaves.
#pragma once
#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/linalg/csr.hpp"

namespace sordino::hmatrix {

/// The inverse of the dense leaves on the diagonal, which are those of the tree's leaf clusters, as a sparse matrix in the
/// tree's order: a block of at most leaf + 1 rows each. Cost: O(n leaf^2); memory 12 B an entry, 20 of a complex one. Throws
/// bad_argument where one is singular.
template <class V>
CsrMatrix inverse_of_diagonal_leaves(const HMatrixOf<V>& matrix);

}  // namespace sordino::hmatrix
