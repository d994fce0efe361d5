// The plaquette of known fields, and that it does not know the gauge.
#include "sordino/lattice/plaquette.hpp"

#include "check.hpp"

using namespace sordino;
using namespace sordino::lattice;

namespace {
const Lattice box{{4, 6, 2, 8}, true};
}

TEST("the plaquette is 1 for unit links, near 1 for warm ones, and near 0 for independent ones") {
  for (double p : plaquettes(box, unit_links(), 1, 3)) CHECK_NEAR(p, 1, 1e-14);
  auto mean = [](const Links& links) {
    double sum = 0;
    for (int t = 0; t < 8; t++)
      for (double p : plaquettes(box, links, 1, t)) sum += p / (8 * 4 * 6);
    return sum;
  };
  double warm = mean(warm_links(box, 5, 0.1)), random = mean(random_links(box, 5));
  CHECK(warm > 0.8);
  CHECK(warm < 0.99);
  CHECK_NEAR(random, 0, 0.05);
}

TEST("a gauge transformation leaves the plaquette as it is, also where it wraps around") {
  auto g = random_rotation(box, 11);
  auto links = random_links(box, 5);
  auto rotated = [&](const Coords& x, int mu) {
    Coords ahead = x;
    ahead[mu] = (x[mu] + 1) % box.extent[mu];
    return g(x) * links(x, mu) * adjoint(g(ahead));
  };
  for (Coords x : {Coords{0, 0, 0, 0}, Coords{3, 5, 1, 7}, Coords{2, 5, 0, 7}})
    CHECK_NEAR(plaquette(box, rotated, x), plaquette(box, links, x), 1e-14);
}

TEST("a layer holds its sites with x fastest") {
  auto links = random_links(box, 5);
  auto layer = plaquettes(box, links, 1, 3);
  CHECK(layer.size() == 24u);
  CHECK(layer[2 + 4 * 5] == plaquette(box, links, {2, 5, 1, 3}));
  CHECK(layer[2 + 4 * 5] != layer[5 + 4 * 2]);
}
