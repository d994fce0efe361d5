// The ways in which ranks share the leaves of an H-matrix.
#pragma once
#include <string>

namespace sordino::hmatrix {

/// rows: its own rows of each leaf. A leaf that ranks cut has its v read by each of them; the result needs no sum, and has the
/// same bits on any number of ranks. leaves: whole leaves, those about its rows, as HACApK has them (000, section III);
/// others' rows are sent to them, and added. grid: the same, where ranks with the same rows share their leaves by columns: each
/// needs fewer rows of the operand, and computes more of others' results.
enum class Distribution { rows, leaves, grid };

/// Throws bad_argument for what is none of their names.
Distribution distribution(const std::string& name);
const char* name_of(Distribution how);

}  // namespace sordino::hmatrix
