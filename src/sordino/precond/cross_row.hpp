// Rows of a grid whose cells are coupled through their faces alone, and not across the ends of the box, as seven points are:
// how those of an aggregate become one of the next level. One function for loops of the host and for kernels, with the bits of
// what grid_coarsening.cpp has for any neighbours.
#pragma once
#include "sordino/precond/cell_weights.hpp"

namespace sordino {

/// An entry for the cell itself, and one for each neighbour: [direction][behind, ahead]. 0 where there is none.
struct CrossRow {
  double own = 0, to[3][2] = {};

  /// visit(entry, direction, side) of neighbours in the order of columns; `own` comes in the middle.
  template <class Visit, class Middle>
  SORDINO_HD void in_order(const Visit& visit, const Middle& middle) const {
    for (int d = 2; d >= 0; d--) visit(to[d][0], d, 0);
    middle(own);
    for (int d = 0; d < 3; d++) visit(to[d][1], d, 1);
  }
  SORDINO_HD bool is_coupled() const {
    bool is = false;
    for (int d = 0; d < 3; d++) is = is || to[d][0] != 0 || to[d][1] != 0;
    return is;
  }
};

/// Whether a step to a side leads out of a cell's aggregate.
SORDINO_HD inline bool leads_out(CellPlace place, int side) { return place == alone_there || int(place) == side; }

/// P^T A P of one aggregate with constant P, with what crosses a direction of pairs counted half, and what of its cells' rows
/// the next level holds (grid_levels.hpp).
class CrossSum {
 public:
  /// One of the aggregate's cells after the other, x fastest. Says what P takes for it.
  SORDINO_HD void add(const CrossRow& row, const CellPlace (&places)[3], CellWeights& weights) {
    weights = {};
    if (!row.is_coupled()) return;
    double excess = 0;
    row.in_order(
        [&](double entry, int d, int side) {
          excess += entry;
          if (leads_out(places[d], side)) sum_.to[d][side] += entry;
        },
        [&](double own) { excess += own; });
    SideCouplings couplings[3];
    for (int d = 0; d < 3; d++) couplings[d] = {0 - row.to[d][0], 0 - row.to[d][1], row.to[d][0] != 0, row.to[d][1] != 0};
    sum_.own += held_by(excess, couplings, places, weights);
  }
  /// The coarse row, whose own entry is that of an identity where no cell takes part.
  SORDINO_HD CrossRow row(const bool (&is_paired)[3]) const {
    CrossRow coarse = sum_;
    for (int d = 0; d < 3; d++)
      for (double& entry : coarse.to[d]) entry *= is_paired[d] ? 0.5 : 1;
    double diagonal = sum_.own;
    coarse.in_order([&](double entry, int, int) { diagonal -= entry; }, [](double) {});
    coarse.own = diagonal > 0 ? diagonal : 1;
    return coarse;
  }

 private:
  CrossRow sum_;  // `own`: what the cells' rows leave
};

}  // namespace sordino
