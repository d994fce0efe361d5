// The Galerkin products of grid_levels.hpp.
#pragma once
#include "sordino/precond/grid_levels.hpp"

namespace sordino {

/// Makes the matrix of the next level of `fine`, whose matrix is A, or, where it has been made, gives it new values: its arrays
/// stay, where operators look. Cost: two passes over A, of which new values need one, on several threads.
void coarsen(const CsrView& A, const GridLevel& fine, GridLevel& coarse);

/// By which a coarse level is stored: where they take fewer bytes than rows with columns do, as of all boxes but periodic ones.
Diagonals diagonals_of_level(const CsrView& A);

}  // namespace sordino
