// Boxes of cells, open or closed, periodic or not, and the matrices of their pressure equations.
#pragma once
#include <array>
#include <map>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/extents.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace cell_boxes {

using namespace sordino;

/// What a box of cells is like.
struct Box {
  Extents cells;
  std::array<double, 3> edges = {1, 1, 1};
  bool is_open = true;                                // zero values on its faces, or zero flux
  double contrast = 1;                                // of layers across z, four cells deep
  std::array<bool, 3> wraps = {false, false, false};  // periodic directions, of three cells or more
  std::vector<double> k = {};                         // [cells] their coefficients; empty: of the layers
};

/// -div(k grad u) by finite volumes: a face weighs its area over the distance.
inline CsrMatrix matrix_of(const Box& box) {
  const Extents& cells = box.cells;
  CsrMatrix A;
  A.n = cells[0] * cells[1] * cells[2];
  A.indptr = {0};
  auto k_of = [&](const Extents& at) {
    if (box.k.empty()) return at[2] / 4 % 2 ? box.contrast : 1.0;
    return box.k[std::size_t(at[0] + cells[0] * (at[1] + cells[1] * at[2]))];
  };
  for (i64 row = 0; row < A.n; row++) {
    const Extents at{row % cells[0], row / cells[0] % cells[1], row / (cells[0] * cells[1])};
    std::map<i64, double> entries;
    for (std::size_t d = 0; d < 3; d++)
      for (i64 side : {-1, 1}) {
        Extents to = at;
        to[d] = box.wraps[d] ? step_from(to[d], side, cells[d]) : to[d] + side;
        const bool inside = to[d] >= 0 && to[d] < cells[d];
        if (!inside && !box.is_open) continue;
        const double near = k_of(at), far = inside ? k_of(to) : near,
                     face = box.edges[(d + 1) % 3] * box.edges[(d + 2) % 3] / box.edges[d] * 2 / (1 / near + 1 / far);
        entries[row] += inside ? face : 2 * face;
        if (inside) entries[to[0] + cells[0] * (to[1] + cells[1] * to[2])] -= face;
      }
    for (auto [column, value] : entries) A.indices.push_back(i32(column)), A.values.push_back(value);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

inline std::vector<double> without_mean(std::vector<double> b) {
  double mean = 0;
  for (double v : b) mean += v / double(b.size());
  for (double& v : b) v -= mean;
  return b;
}

}  // namespace cell_boxes
