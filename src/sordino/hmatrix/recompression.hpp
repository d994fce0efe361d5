// A sum of outer products with as few terms as its accuracy needs: two QR factorizations and a small SVD.
#pragma once
#include "sordino/hmatrix/low_rank.hpp"

namespace sordino::hmatrix {

/// The nearest sum, in the Frobenius norm, whose distance is at most `distance`: the terms of the smallest singular values are
/// left out. u_k are orthogonal and as long as the singular values, which decrease; v_k are orthonormal. Returns the square of
/// the distance. O((height + width) rank^2 + rank^3) operations.
template <class V>
double recompress(LowRank<V>& sum, double distance);

}  // namespace sordino::hmatrix
