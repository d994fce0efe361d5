// Successive over-relaxation in two colours as the smoother of a grid's level: red, then black before a correction, black, then
// red behind it, which is the transpose.
//
// On a level a V-cycle takes five commands of it and as many halos, of x after each colour but the last, which carry whole
// layers, both colours; what was left goes to the coarser level by a sixth. Bytes of a row: 152 before the correction and 104
// behind it would be two polynomials' of degree 1; here entries are read twice in all, half of them by each command.
#pragma once
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/level_smoother.hpp"
#include "sordino/precond/red_black.hpp"

namespace sordino {

/// The row of an entry between two cells of one colour, and its column; {-1, -1}: there is none. Cost: a pass over the columns,
/// on several threads.
std::pair<i64, i64> coupled_in_colour(const CsrView& A, const Extents& cells);

class RedBlackSmoother final : public LevelSmoother {
 public:
  /// Collective. Of level l of a grid, whose vectors are on that space, and whose couplings are between colours alone.
  RedBlackSmoother(Rank& rank, const GridLevels& levels, int l, int space);
  ~RedBlackSmoother() override;
  void update_values(Rank& rank) override;
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_, &exchange_); }
  void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const override;
  void improve(Rank& rank, Vec b, Vec x, Vec to) const override;
  void leave(Rank& rank, Vec b, Vec x, Vec to) const override;

  static SmootherSize size_of(const GridLevel& level, int rank);

 private:
  void fill(double* to) const;

  Rank& rank_;
  const GridLevels& levels_;
  int level_, space_;
  Exchange exchange_;
  Split split_;
  red_black::Cells cells_;
  i64 numbers_;  // stored
  double* stored_;
  std::unique_ptr<double[]> staging_;  // for a device
  // Of which one colour is relaxed, from zero and behind a correction: two, so that a neighbour has read what is sent anew.
  Vec red_, black_;
};

}  // namespace sordino
