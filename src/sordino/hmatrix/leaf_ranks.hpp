// Ranks of an H-matrix's leaves without its values: enough to say what a product costs of a matrix that no memory here holds.
#pragma once
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino::hmatrix {

/// [leaves], in their order; -1: dense. With `every` = 1 those of a matrix that is built with these options. Else of so many
/// admissible blocks one, drawn by the seed, is compressed, and each of the others takes the rank of one of these with as many
/// rows and columns, up to a factor of two, drawn as well. Cost: the build's, over `every`. Memory: 24 B a leaf, and one
/// block's crosses for each thread. Throws bad_argument for entries that are not finite, and if `every` is not at least 1.
std::vector<i32> leaf_ranks(const Generator& generator, const BuildOptions& options, int every);

/// A matrix of these ranks whose values nobody has set: only its structure may be asked for. Memory for them is reserved, and
/// not taken from a system that gives pages when they are touched. Throws bad_argument for ranks that do not fit.
HMatrix without_values(const Generator& generator, const BuildOptions& options, const std::vector<i32>& ranks);

}  // namespace sordino::hmatrix
