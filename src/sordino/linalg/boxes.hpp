// Ranks that own boxes of a grid's cells, cut in x, y and z (paper 001, section IV.E), and the order of rows that makes a box's
// consecutive.
#pragma once
#include <string>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/extents.hpp"

namespace sordino {

struct Boxes {
  Extents grid = {1, 1, 1};   // cells
  Extents along = {1, 1, 1};  // boxes in each direction; those in x have consecutive ranks

  i64 count() const { return along[0] * along[1] * along[2]; }
  /// The first cell in a direction of its k-th box: extents of boxes differ by a cell at most.
  i64 first(int direction, i64 k) const { return grid[direction] * k / along[direction]; }
  /// Which box of a direction has this cell of it.
  i64 place(int direction, i64 cell) const { return ((cell + 1) * along[direction] - 1) / grid[direction]; }
};

/// Options `grid` and `boxes` for a matrix of n rows. auto takes those of which the fewest cells lie at cuts; of equals, that
/// with the fewest boxes in x, where cells lie side by side in memory, and then in y. Throws bad_argument with one sentence
/// where there is no grid, or none of n cells, or not `ranks` boxes, or fewer cells than boxes in a direction.
Boxes choose_boxes(i64 n, const std::string& grid, const std::string& boxes, int ranks);

/// Where rows go.
struct BoxOrder {
  std::vector<i64> cells;  // [n] the cell of each row
  std::vector<i64> cuts;   // [boxes + 1] the first row of each box, and n: System::cuts
};

/// Of A's rows, a cell each and x fastest: box by box; of a box first its core, then its surface, the cells that A couples with
/// those of other boxes, in either direction. So tiles of consecutive rows wait for the halo, or are sent, only behind the
/// core, whichever way boxes are cut and however far couplings reach; they may be periodic. Cells of each part keep their
/// order. Cost: one pass over the entries on several threads, and 13 bytes a row.
BoxOrder order_in_boxes(const CsrView& A, const Boxes& boxes);

}  // namespace sordino
