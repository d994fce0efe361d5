// Gauge fields and sources to compute with. Each value depends on (seed, site of the lattice, direction) alone, so every way to
// cut the lattice gets the same field.
#pragma once
#include <functional>

#include "sordino/lattice/geometry.hpp"
#include "sordino/lattice/spinor.hpp"

namespace sordino::lattice {

/// U_mu(x): the link from site x of the lattice to its neighbour ahead in mu. Without the sign of the boundary.
using Links = std::function<Su3<double>(const Coords& x, int mu)>;
/// A spinor at each site of the lattice.
using Source = std::function<Spinor<double>(const Coords& x)>;

Links unit_links();
/// Independent links, uniform over SU(3).
Links random_links(const Lattice& lattice, u64 seed);
/// exp(i epsilon H), H Hermitian without trace and with normal entries: links near 1, as on a fine lattice.
Links warm_links(const Lattice& lattice, u64 seed, double epsilon);
/// Real and imaginary parts are normal.
Source random_source(const Lattice& lattice, u64 seed);

/// One uniform SU(3) matrix a site: a random gauge transformation.
std::function<Su3<double>(const Coords&)> random_rotation(const Lattice& lattice, u64 seed);

}  // namespace sordino::lattice
