// Substitution with a triangle as it was given, without any inverse: what solves by inverted blocks are measured by.
#pragma once
#include "sordino/trsv/residual.hpp"

namespace sordino::trsv {

/// x of L x = b, L^T x = b or L^H x = b, in the arithmetic of V; b and x [n][columns], perhaps the same. The triangle is one
/// that validate() takes. L goes column by column, as SciPy's and LAPACK's substitution by columns does, L^T and L^H row by
/// row, entry after entry as they are stored: each sum is a chain of roundings. Cost: the entries once, by one thread.
template <class V>
void substitute(const TriangleView<V>& L, How how, const V* b, V* x, i64 columns = 1);

}  // namespace sordino::trsv
