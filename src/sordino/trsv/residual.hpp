// What a solution leaves of a triangular system, and how wrong that is. Computed from the triangle as it was given, so that it
// tells what inverted triangles have cost.
#pragma once
#include <vector>

#include "sordino/trsv/factor.hpp"

namespace sordino::trsv {

/// L x = b, L^T x = b, or L^H x = b.
enum class How { plain, transposed, adjoint };

/// r = b - L x, with L, L^T or L^H; b, x and r [n][columns]. Its error is that of rounding each product once, however long rows
/// are: sums of floats are of doubles, those of doubles keep what each addition loses. By columns, plain sums would repeat the
/// roundings of substitution in the same order, and call those of any other order errors. Cost: the entries once,
/// by so many threads (0: as many as there are cores; one of L whose pattern is not sorted), six additions for each and column.
template <class V>
void residual(const TriangleView<V>& L, How how, const V* b, const V* x, V* r, i64 columns = 1, int threads = 1);

/// Of trials: compiled for that number.
inline constexpr i64 trial_columns = 4;

/// The componentwise backward error of each column: the largest of |b - L x| / (|L| |x| + |b|), row by row, which is the
/// smallest relative change of entries of L and b with which x is exact (Oettli and Prager, 1964). Substitution leaves a few
/// roundings. Infinite where x is not finite. Cost: as residual(). [columns]
template <class V>
std::vector<double> backward_errors(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns = 1,
                                    int threads = 1);

}  // namespace sordino::trsv
