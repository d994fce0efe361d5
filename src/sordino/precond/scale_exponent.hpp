// By which power of two a matrix is divided before its entries are stored in lower precision.
#pragma once
#include "sordino/base/singles.hpp"
#include "sordino/linalg/csr.hpp"

namespace sordino {

/// That of 2^e between the least and the largest entry of the diagonal, all of which are positive; 0 for double precision.
/// Throws bad_argument with one sentence where these are too far apart for `precision`. All rows are to be at hand. Cost: a
/// pass over the arrays, on several threads.
int scale_exponent(const CsrView& A, CyclePrecision precision);

}  // namespace sordino
