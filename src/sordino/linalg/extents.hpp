// Numbers of cells, or of parts, in the three directions of a grid whose cells are the rows of a matrix.
#pragma once
#include <array>
#include <string>

#include "sordino/base/types.hpp"

namespace sordino {

/// Cells, tiles or boxes in x, y and z, of which x runs fastest.
using Extents = std::array<i64, 3>;

/// "64,64,32", "64,64" (one in z) or "64". Throws bad_argument, naming the option, for anything else and for numbers < 1.
Extents parse_extents(const std::string& option, const std::string& text);
/// The same of option `grid`, for a matrix of n rows. Throws bad_argument if the grid has not as many cells.
Extents parse_grid(i64 n, const std::string& text);
/// "64 x 64 x 32"
std::string shown(const Extents& extents);

}  // namespace sordino
