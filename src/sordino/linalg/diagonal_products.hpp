// Rows of a matrix stored by diagonals, several rows an instruction, by the widest registers that the CPU has.
#pragma once
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

}  // namespace sordino
