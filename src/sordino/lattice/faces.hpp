// Which half spinors travel between the ranks of a grid.
#pragma once
#include "sordino/lattice/dslash_rows.hpp"
#include "sordino/lattice/geometry.hpp"
#include "sordino/runtime/exchange.hpp"

namespace sordino::lattice {

/// `parities`: of the fields, 2 or 1.
CutBox cut_box(const Box& box, int parities);

/// The exchange of a vector of faces, [own faces | received ones], each in the order of CutBox::first. A neighbour that is met
/// both ahead and behind (two ranks in a dimension) gets both faces in one message. No communication: ranks compute each
/// other's lists. `words` of 8 bytes for each half spinor.
Exchange face_exchange(const Box& box, const CutBox& cut, i32 words);

}  // namespace sordino::lattice
