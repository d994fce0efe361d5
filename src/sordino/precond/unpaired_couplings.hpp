// Where cells are paired in some directions only, and coupled across edges and corners (grid_coarsening.hpp): what is done with
// the halves of couplings that cross pairs.
//
// A coupling that crosses pairs counts half in the coarse matrix, since the centres are twice as far apart. Where the
// directions of its step are paired in part, the other half must not go to the diagonal: it would weaken what couples the
// others. Finite elements of long cells have couplings of both signs between two layers, which add up to little; with half of
// some and the whole of others they add up to much. So the half of a coupling of aggregates I and I + p + u, of steps p in
// paired and u in other directions, goes to I and I + u and to I + p and I + p + u, a quarter each. With constant coefficients
// K and M in each direction, K_x M_z thus becomes K_x / 2 M_z, and M_x K_z stays M'_x K_z, where rows of M and of M' add up to
// the same; and so does each element's matrix, whatever its coefficient, that stays semidefinite.
//
// A wall's part is held less by the coarse level (cell_weights.hpp), and so are the parts of it in those couplings, which are
// positive: without that a vector that alternates along the wall had less than nothing left.
#pragma once
#include <array>

#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {

/// Of one level and the next one; empty, and asked for nothing, where there are no such couplings.
class UnpairedCouplings {
 public:
  static constexpr std::size_t slots = std::size_t(GridNeighbours::count), most_steps = 9;
  /// What a coarse row has to give to steps in directions that are not paired, by step(); that of no step is the diagonal's.
  using Row = std::array<double, most_steps>;

  UnpairedCouplings(const GridLevel& fine, const GridLevel& coarse);
  bool are_there() const { return count_ > 1; }
  /// What a step to a neighbour, of the fine or of the coarse level, is in directions that are not paired.
  std::size_t step(std::size_t neighbour) const { return steps_[neighbour]; }
  /// Whether it is of them alone.
  bool is_along(std::size_t neighbour) const { return is_along_[neighbour]; }
  /// Row `i` begins with nothing.
  void set(i64 i, const Row& row);
  /// Completes the rows of the coarse matrix, which have their diagonal as it comes out, and where nothing couples 1 instead.
  void add_to(LargeCsr& A) const;

 private:
  double at(i64 row, std::size_t neighbour) const { return given_[std::size_t(row) * count_ + steps_[neighbour]]; }

  const Extents& cells_;
  std::size_t count_ = 1;  // steps
  std::array<std::uint8_t, slots> steps_{};
  std::array<bool, slots> is_along_{};
  LargeArray<double> given_;  // [rows][count_]
};

}  // namespace sordino
