// In which directions the cells of a grid are paired from level to level, so that point smoothers and constant interpolation
// suit all of them: in all, where couplings are about as strong in x, y and z, and first in those that are stronger, where
// cells are stretched.
#pragma once
#include <array>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/extents.hpp"
#include "sordino/precond/tiling.hpp"

namespace sordino {

/// A grid and how many of its cells in each direction, 1 or 2, make one of the next; of the last one all 1.
struct GridStep {
  Extents cells = {};
  Extents step = {1, 1, 1};
};

/// How strongly cells are coupled in each direction, beside the others: sums over cells of parts of 1, so that all cells count
/// alike, whatever their coefficients. All 1 where cells are coupled across edges or corners, as by 27 points: of those,
/// couplings that cross pairs cannot be halved without changing what couples in the other directions. Cost: some 65,000 rows at
/// most.
std::array<double, 3> coupling_strengths(const CsrView& A, const Extents& grid);

/// Levels for couplings of such strengths, down to few cells, where ranks own whole layers in the last direction with more than
/// one cell and can pair them. A pair doubles what couples it in the other directions and halves what does along it: four
/// times less beside them. Strengths within a factor of two and a half are alike.
///
/// Where that would end with more cells than can be inverted, as pairs of the ranks' own layers are asked for first, and these
/// are too few, it pairs in all directions at once.
std::vector<GridStep> grid_steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first);

/// Layers of whole cells of the last level, as deep as a power of two, of which each rank gets at least one. Of the depths that
/// end with cells enough to invert, and need not pair in all directions at once for that, the one that costs the busiest rank
/// least: its rows of all levels, its rows of the last inverse, and a share of what it takes to make that. So deep ones where
/// all ranks get as many, and where they do not, shallow ones. Cost: coupling_strengths().
Tiling grid_layers(const CsrView& A, const Extents& grid, int ranks);

/// Of a grid that ranks own in layers: the last one with more than one cell, or x.
int last_direction(const Extents& cells);
/// Cells of a layer across that direction.
i64 rows_of_layer(const Extents& cells);

}  // namespace sordino
