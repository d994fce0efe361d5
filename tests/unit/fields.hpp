// Random fields of grids, as finite volumes of a coefficient have them: walls, solid cells, contrast.
#pragma once
#include <cmath>
#include <vector>

#include "fresh.hpp"
#include "sordino/linalg/grid_matrix.hpp"

namespace fields {

using namespace sordino;

struct Fields {
  Extents cells = {};
  std::vector<double> diagonal, ahead[3];

  GridMatrix view() const {
    return {.cells = cells, .diagonal = diagonal.data(), .ahead = {ahead[0].data(), ahead[1].data(), ahead[2].data()}};
  }
};

struct Wanted {
  double digits = 0;     // the coefficient is between 1 and 10^digits
  double solid = 0;      // part of the cells
  double stretched = 1;  // by which z is coupled less
  bool is_open = true;   // walls on both ends of z
};

/// What lies behind a last cell is NaN, for nobody may read it.
inline Fields random(const Extents& cells, const Wanted& wanted, fresh::Random& random) {
  const i64 n = cells[0] * cells[1] * cells[2];
  Fields f{.cells = cells, .diagonal = std::vector<double>(std::size_t(n), 0.0), .ahead = {}};
  std::vector<double> k(std::size_t(n), 1.0);
  std::vector<char> is_solid(std::size_t(n), 0);
  for (i64 i = 0; i < n; i++) {
    k[std::size_t(i)] = std::pow(10.0, wanted.digits * random.real(0, 1));
    is_solid[std::size_t(i)] = random.chance(wanted.solid);
  }
  const i64 strides[] = {1, cells[0], cells[0] * cells[1]};
  for (std::size_t d = 0; d < 3; d++) f.ahead[d].assign(std::size_t(n), std::nan(""));
  for (i64 i = 0; i < n; i++) {
    const Extents at{i % cells[0], i / cells[0] % cells[1], i / (cells[0] * cells[1])};
    for (std::size_t d = 0; d < 3; d++) {
      const double part = d == 2 ? 1 / (wanted.stretched * wanted.stretched) : 1;
      if (at[d] + 1 == cells[d]) continue;
      const std::size_t j = std::size_t(i + strides[d]), here = std::size_t(i);
      const bool is_open = !is_solid[here] && !is_solid[j];
      const double coupling = is_open ? part * 2 * k[here] * k[j] / (k[here] + k[j]) : 0;
      f.ahead[d][here] = -coupling;
      f.diagonal[here] += coupling, f.diagonal[j] += coupling;
    }
    const bool at_wall = wanted.is_open && (at[2] == 0 || at[2] + 1 == cells[2]);
    if (at_wall && !is_solid[std::size_t(i)]) f.diagonal[std::size_t(i)] += 2 * k[std::size_t(i)];
  }
  for (double& entry : f.diagonal)
    if (entry == 0) entry = 1;  // of cells that are coupled with nobody
  return f;
}

}  // namespace fields
