// Test problems: the Poisson equation on a box, as a CSR matrix.
#pragma once
#include "sordino/linalg/csr.hpp"

namespace sordino {

/// -div(k grad u) on nx x ny x nz cells with zero Dirichlet values outside, x fastest; scaled so that h = 1.
/// `stencil` 7, or 27 (diagonal 26, neighbours -1 for contrast 1). k = contrast inside a ball of radius 0.3 in the middle and 1
/// elsewhere, with harmonic means on faces. Throws bad_argument for sizes < 1, contrast <= 0 or another stencil.
CsrMatrix poisson(i64 nx, i64 ny, i64 nz, int stencil, double contrast);

}  // namespace sordino
