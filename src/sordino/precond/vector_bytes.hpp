// What a cycle makes for a level whose numbers are double, but its matrix.
#pragma once
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

/// Of vectors, of the smoother and of the transfers to the next level, on a rank. `second_visits`: in cycles f and w.
/// `ghosts`: of the level's matrix there.
i64 vector_bytes(const MultigridLevels& levels, int l, bool second_visits, int rank, i64 ghosts, bool device);

/// On a rank, of all levels that are made of a grid's fields, by whose diagonals their ghosts are known.
i64 made_vector_bytes(const MultigridLevels& levels, bool second_visits, int rank, bool device);

}  // namespace sordino
