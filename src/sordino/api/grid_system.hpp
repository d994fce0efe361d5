// Systems whose matrix is given by the fields of a grid (linalg/grid_matrix.hpp): set up where these lie, or by rows like any.
#pragma once
#include "sordino/api/system.hpp"
#include "sordino/linalg/large_csr.hpp"

namespace sordino {

/// Whether nobody needs rows: precond mg in double, smoothed by polynomials, by real diagonals in the order of cells, of more
/// than GridLevels::most_on_host cells, without a nullspace.
bool stays_by_fields(const System& system, const Options& options);

/// The options with the grid of the matrix, where it is given by fields. Throws bad_argument if they name another one, or the
/// matrix is none.
Options with_grid(const System& system, Options options);

/// Nothing where stays_by_fields(); else the rows, which from now on are the system's matrix. Cost: two passes over them, and a
/// copy of fields that are on a GPU.
LargeCsr rows_unless_by_fields(System& system, const Options& options);

}  // namespace sordino
