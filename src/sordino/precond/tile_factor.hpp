// Incomplete factors of one tile's entries, with the pattern of the entries themselves: ILU(0), of symmetric ones IC(0) as
// L D L^T (Saad, Iterative Methods, 2003, section 10.3).
#pragma once
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/precond/tile_solve.hpp"
#include "sordino/precond/tiling.hpp"

namespace sordino {

/// How far apart, in numbers of cells of a tile, the cells of entries are, increasing: the diagonals of all tiles' matrices, of
/// which those of L and of U are taken together. Entries between two tiles do not count.
std::vector<i32> shifts_of(const CsrView& A, const TiledRows& rows);

class TileFactor {
 public:
  TileFactor(const TiledRows& rows, const std::vector<i32>& shifts);
  static constexpr i32 none = -1;

  /// Factorizes tile t. Returns the rank's row whose pivot is zero or, with `positive`, not positive; none: there is no such
  /// one. Cost: a square of the number of shifts for each cell.
  i32 factorize(const CsrView& A, i32 t, bool positive);
  /// The factors of its diagonal alone.
  void keep_diagonal(const CsrView& A, i32 t);
  /// Factors of a cell, where there are no entries 0: unit L, then 1 / D, then unit U, each by shifts.
  double lower(i32 cell, i32 shift) const { return entry(cell, shift); }
  double inverse_pivot(i32 cell) const { return 1 / at(cell, pivot_); }
  double upper(i32 cell, i32 shift) const { return entry(cell, pivot_ + 1 + shift) / at(cell, pivot_); }

 private:
  double& at(i32 cell, i32 slot) { return entries_[std::size_t(cell) * std::size_t(slots_) + std::size_t(slot)]; }
  double at(i32 cell, i32 slot) const { return const_cast<TileFactor&>(*this).at(cell, slot); }
  double entry(i32 cell, i32 slot) const;
  i32 slot_of(i32 shift) const;
  void take(const CsrView& A, i32 t, i32 cell);
  void eliminate(i32 cell);

  const TiledRows& rows_;
  const RankTiles& tiles_;
  const std::vector<i32>& shifts_;
  i32 pivot_, slots_;            // a cell's entries are those of L, the pivot, and those of U
  std::vector<i32> meets_;       // [shifts][shifts] the slot of row i that entry d of L times entry e of U changes, or none
  std::vector<double> entries_;  // [cells][slots], NaN where there is none
};

/// Where TileSolve reads them: the factors of tile t, among those of all tiles, of which `width` lie interleaved. M is divided
/// by `scale`.
void store(const TileFactor& factor, const TileLayout& layout, int width, i32 t, double scale, double* to);

}  // namespace sordino
