#include "sordino/lattice/plaquette.hpp"

namespace sordino::lattice {

double plaquette(const Lattice& lattice, const Links& links, const Coords& x) {
  auto ahead = [&](int mu) {
    Coords y = x;
    y[mu] = (y[mu] + 1) % lattice.extent[mu];
    return y;
  };
  double sum = 0;
  for (int mu = 0; mu < 4; mu++)
    for (int nu = 0; nu < mu; nu++) {
      Su3<double> there = links(x, mu) * links(ahead(mu), nu), back = links(x, nu) * links(ahead(nu), mu);
      Su3<double> P = there * adjoint(back);
      for (int i = 0; i < 3; i++) sum += P.e[i][i].re;
    }
  return sum / (6 * 3);
}

std::vector<double> plaquettes(const Lattice& lattice, const Links& links, int z, int t) {
  std::vector<double> layer;
  for (i32 y = 0; y < lattice.extent[1]; y++)
    for (i32 x = 0; x < lattice.extent[0]; x++) layer.push_back(plaquette(lattice, links, {x, y, z, t}));
  return layer;
}

}  // namespace sordino::lattice
