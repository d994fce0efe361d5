// Relaxation in eight colours as the smoother of a grid's level: in their order before a correction, and in the reverse one
// behind it, which is the transpose.
//
// On a level a V-cycle takes commands whose entries are those of two products, as with two colours (red_black_smoother.hpp),
// and the same halos: x with new even layers, with new odd ones, corrected, and with new odd ones. Memory: 27 numbers a row
// beside the matrix, and two vectors.
#pragma once
#include "sordino/precond/eight_colours.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/level_smoother.hpp"
#include "sordino/precond/stored_numbers.hpp"

namespace sordino {

class EightColourSmoother final : public LevelSmoother {
 public:
  /// Collective. Of level l of a grid, whose vectors are on that space, and whose cells of a colour are not coupled.
  EightColourSmoother(Rank& rank, const GridLevels& levels, int l, int space);
  void update_values(Rank& rank) override;
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_, &exchange_); }
  void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const override;
  void improve(Rank& rank, Vec b, Vec x, Vec to) const override;
  void leave(Rank& rank, Vec b, Vec x, Vec to) const override;

  static SmootherSize size_of(const GridLevel& level, int rank);

 private:
  void relax(Rank& rank, int first, Vec x) const;
  void relax_back(Rank& rank, int first, Vec before, Vec x) const;

  const GridLevels& levels_;
  int level_, space_;
  Exchange exchange_;
  Split split_;
  eight_colours::Cells cells_;
  int colour_space_;
  StoredNumbers stored_;
  // Of which four colours are relaxed, from zero and behind a correction: two, so that a neighbour has read what is sent anew.
  Vec even_, odd_;
};

}  // namespace sordino
