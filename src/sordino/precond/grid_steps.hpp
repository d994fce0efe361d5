// In which directions the cells of a grid are paired from level to level, so that point smoothers and constant interpolation
// suit all of them: in all, where couplings are about as strong in x, y and z, and first in those that are stronger, where
// cells are stretched.
#pragma once
#include <array>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/extents.hpp"
#include "sordino/precond/level_ranks.hpp"
#include "sordino/precond/tiling.hpp"

namespace sordino {

/// A grid and how many of its cells in each direction, 1 or 2, make one of the next; of the last one all 1.
struct GridStep {
  Extents cells = {};
  Extents step = {1, 1, 1};
  std::vector<i64> cuts = {};  // the ranks' first layers, and how many there are
};

/// How strongly cells are coupled in each direction, beside the others: sums over cells of parts of 1, so that all cells count
/// alike, whatever their coefficients. Couplings across edges and corners, as of 27 points, count in each of their directions.
/// Cost: some 65,000 rows at most.
std::array<double, 3> coupling_strengths(const CsrView& A, const Extents& grid);
/// Whether a tenth of the rows are coupled five times as strongly in one direction as in another, or more. Cost: likewise.
bool has_stretched_rows(const CsrView& A, const Extents& grid);
/// How far apart rows are whose strengths are looked at: odd, so that they are at all places of lines of 2^k cells.
inline i64 rows_apart(i64 n) { return n / 65536 | 1; }

/// Levels for couplings of such strengths, down to at most 64 cells, or sixteen for each rank, up to 1,024, and who owns their
/// layers, in the last direction with more than one cell (level_ranks.hpp; `alone` as there). A pair doubles what couples it in
/// the other directions and halves what does along it: four times less beside them. Strengths within a factor of two and a half
/// are alike.
///
/// Ranks pair layers of their own. Where they cannot on the first level, whose ranks are given, other directions are paired
/// first, or none, if there is no other: then the second level is the first one on fewer ranks.
std::vector<GridStep> grid_steps(const std::array<double, 3>& strengths, const Extents& grid, const Partition& first,
                                 i64 alone = level_rows_of_cpus);

/// The ranks' first layers of the next level, of so many cells, as long as nobody hands any to others.
std::vector<i64> cuts_below(const GridStep& level, const Extents& cells);

/// Layers of whole cells of a coarse level, as deep as a power of two, of which each rank gets at least one: of all depths the
/// one that costs the busiest rank of each level least, in rows, moved ones twice, and in levels. So deep ones where all ranks
/// get as many, and where they do not, shallow ones. Cost: coupling_strengths(), and a walk over ranks for each level of each
/// depth.
Tiling grid_layers(const CsrView& A, const Extents& grid, int ranks, i64 alone = level_rows_of_cpus);
/// The same for couplings of such strengths, which nobody looks for again.
Tiling grid_layers(const std::array<double, 3>& strengths, const Extents& grid, int ranks, i64 alone);

}  // namespace sordino
