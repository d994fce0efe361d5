// Relaxation in two colours as the smoother of a grid's level: red, then black before a correction, black, then red behind it,
// which is the transpose.
//
// On a level a V-cycle takes five commands of it, whose entries are those of two products, and four halos: x when red cells are
// there, when black ones are, corrected, and with new black ones. Each carries whole layers, of both colours. With those of
// what was left and of the correction a level has six, where the polynomial of degree 1 has four. Memory: seven numbers a row
// beside the matrix, and two vectors.
#pragma once
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/level_smoother.hpp"
#include "sordino/precond/red_black.hpp"
#include "sordino/precond/stored_numbers.hpp"

namespace sordino {

/// The row of an entry between two cells of one colour, of two or of eight (eight_colours.hpp), and its column; {-1, -1}: there
/// is none. Cost: a pass over the columns, on several threads.
std::pair<i64, i64> coupled_in_colour(const CsrView& A, const Extents& cells, int colours);

class RedBlackSmoother final : public LevelSmoother {
 public:
  /// Collective. Of level l of a grid, whose vectors are on that space, and whose couplings are between colours alone.
  RedBlackSmoother(Rank& rank, const GridLevels& levels, int l, int space);
  void update_values(Rank& rank) override;
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_, &exchange_); }
  void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const override;
  void improve(Rank& rank, Vec b, Vec x, Vec to) const override;
  void leave(Rank& rank, Vec b, Vec x, Vec to) const override;

  static SmootherSize size_of(const GridLevel& level, int rank);

 private:
  void fill(double* to, int rank) const;

  const GridLevels& levels_;
  int level_, space_;
  Exchange exchange_;
  Split split_;
  red_black::Cells cells_;
  StoredNumbers stored_;
  // Of which one colour is relaxed, from zero and behind a correction: two, so that a neighbour has read what is sent anew.
  Vec red_, black_;
};

}  // namespace sordino
