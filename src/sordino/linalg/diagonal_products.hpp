// Rows of a matrix stored by diagonals, several rows an instruction, by the widest registers that the CPU has.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

/// A diagonal from some row on: row i adds values[i] x[i].
struct DiagonalPart {
  const double* values;  // null: all are 1
  const double* x;
};

/// y[i] = what `count` diagonals add to row i, in their order, each product rounded before it is added: so bits depend neither
/// on registers nor on how rows are parted. y is nobody's x. Cost: the values are read once, side by side, so that few of the
/// places that a CPU reads ahead at lie idle; y is stored, and read again, once for nine diagonals.
void add_diagonals(const DiagonalPart* diagonals, i32 count, double* y, i32 rows);

/// Those that this CPU has registers for, the widest first, which is the one that is taken: all have the same bits.
using AddDiagonals = void (*)(const DiagonalPart*, i32, double*, i32);
std::vector<AddDiagonals> ways_to_add_diagonals();

}  // namespace sordino
