// The functions among which add_diagonals() chooses, for those that compare them.
#pragma once
#include <vector>

#include "sordino/linalg/diagonal_products.hpp"

namespace sordino {

/// Those that this CPU has registers for, the widest first, which is the one that is taken: all have the same bits.
using AddDiagonals = void (*)(const DiagonalPart*, i32, double*, i32);
std::vector<AddDiagonals> ways_to_add_diagonals();

}  // namespace sordino
