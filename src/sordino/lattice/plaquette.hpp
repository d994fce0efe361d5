// The plaquette: the product of the links around a square, what one looks at first in a gauge field.
#pragma once
#include <vector>

#include "sordino/lattice/gauge.hpp"

namespace sordino::lattice {

/// Re tr P / 3, the mean over the six planes through site x: 1 where all links are 1, near 0 where they are independent. Does
/// not change with the gauge. Cost: 24 links and 18 products of matrices.
double plaquette(const Lattice& lattice, const Links& links, const Coords& x);
/// The same at all sites (x, y) of one layer, x fastest.
std::vector<double> plaquettes(const Lattice& lattice, const Links& links, int z, int t);

}  // namespace sordino::lattice
