#include "sordino/lattice/geometry.hpp"

#include <limits>

#include "sordino/base/error.hpp"

namespace sordino::lattice {
namespace {

void check(const Lattice& lattice) {
  for (int mu = 0; mu < 4; mu++) {
    i32 n = lattice.extent[mu];
    if (n < 2 || n % 2)
      bad_argument("a lattice of " + to_string(lattice.extent) + " sites cannot be coloured even and odd: its extent in " +
                   dimension_name[mu] + " must be an even number, at least 2");
  }
}

bool fits(const Lattice& lattice, int mu, int ranks) { return lattice.extent[mu] % (2 * ranks) == 0; }

/// Sites on the faces that a box of this grid shares with other ranks.
i64 surface(const Lattice& lattice, const Coords& grid) {
  i64 box = lattice.volume(), sum = 0;
  for (int mu = 0; mu < 4; mu++) box /= grid[mu];
  for (int mu = 0; mu < 4; mu++)
    if (grid[mu] > 1) sum += 2 * box / (lattice.extent[mu] / grid[mu]);
  return sum;
}

/// Ranks in each dimension; none (0 in x) where no grid fits.
Coords find_grid(const Lattice& lattice, int ranks) {
  Coords best{};
  i64 least = std::numeric_limits<i64>::max();
  auto divides = [&](int mu, int part, int left) { return left % part == 0 && fits(lattice, mu, part); };
  for (int t = ranks; t >= 1; t--) {
    if (!divides(3, t, ranks)) continue;
    for (int z = ranks / t; z >= 1; z--) {
      if (!divides(2, z, ranks / t)) continue;
      for (int y = ranks / t / z; y >= 1; y--) {
        int x = ranks / t / z / y;
        if (!divides(1, y, ranks / t / z) || !fits(lattice, 0, x)) continue;
        Coords grid{x, y, z, t};
        if (i64 s = surface(lattice, grid); s < least) {
          least = s;
          best = grid;
        }
      }
    }
  }
  return best;
}

}  // namespace

std::string to_string(const Coords& e) {
  return std::to_string(e[0]) + "x" + std::to_string(e[1]) + "x" + std::to_string(e[2]) + "x" + std::to_string(e[3]);
}

Coords choose_grid(const Lattice& lattice, int ranks) {
  check(lattice);
  Coords grid = find_grid(lattice, ranks);
  if (grid[0] == 0)
    bad_argument("a lattice of " + to_string(lattice.extent) + " sites cannot be cut into " + std::to_string(ranks) +
                 " equal boxes of even extents");
  return grid;
}

int most_ranks(const Lattice& lattice, int most) {
  check(lattice);
  while (most > 1 && find_grid(lattice, most)[0] == 0) most--;
  return most;
}

Box::Box(const Lattice& lattice, const Coords& grid, int rank) : rank_(rank), lattice_(lattice), grid_(grid) {
  check(lattice);
  i64 sites = lattice.volume();
  for (int mu = 0; mu < 4; mu++) {
    if (grid[mu] < 1 || !fits(lattice, mu, grid[mu]))
      bad_argument("a grid of " + to_string(grid) + " ranks does not cut a lattice of " + to_string(lattice.extent) +
                   " sites into boxes of even extents in " + dimension_name[mu]);
    sites /= grid[mu];
  }
  if (sites > std::numeric_limits<i32>::max() / 24)
    bad_argument("a box of more than 89 million sites is more than a rank can number: use more ranks");
  Coords e;
  for (int mu = 0; mu < 4; mu++) {
    e[mu] = lattice.extent[mu] / grid[mu];
    place_[mu] = rank % grid[mu];
    rank /= grid[mu];
    origin_[mu] = place_[mu] * e[mu];
  }
  if (rank != 0) bad_argument("a grid of " + to_string(grid) + " ranks has no rank of this number");
  sites_ = Checkerboard(e[0], e[1], e[2], e[3]);
}

int Box::neighbour(int mu, int step) const {
  Coords p = place_;
  p[mu] = (p[mu] + step + grid_[mu]) % grid_[mu];
  return p[0] + grid_[0] * (p[1] + grid_[1] * (p[2] + grid_[2] * p[3]));
}

Box::Parts Box::parts(int parity) const {
  Parts out;
  for (i32 i = 0; i < sites_.half; i++) {
    i32 x[4];
    sites_.coordinates(parity, i, x);
    bool inside = true;
    for (int mu = 0; mu < 4; mu++) inside &= !is_cut(mu) || (x[mu] > 0 && x[mu] < sites_.extent[mu] - 1);
    auto& list = inside ? out.interior : out.surface;
    if (!list.empty() && list.back().end == i)
      list.back().end++;
    else
      list.push_back({i, i + 1});
  }
  return out;
}

}  // namespace sordino::lattice
