// Boxes of nodes between bricks, and the matrices of trilinear finite elements on them: 27 points, with couplings of both
// signs.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/extents.hpp"

namespace brick_boxes {

using namespace sordino;

/// What a box is like. Direction d has nodes[d] unknowns; where it is open there is a layer of bricks more on each side, with
/// zero values behind it, where it is closed none, where it wraps one, between the last node and the first.
struct Bricks {
  Extents nodes;
  std::array<double, 3> edges = {1, 1, 1};
  bool is_open = true;
  std::array<bool, 3> wraps = {false, false, false};
  double grading = 1;  // in directions of `graded`, the last brick's edge over the first one's
  std::array<bool, 3> graded = {false, false, false};
  std::array<double, 3> thin_walls = {1, 1, 1};              // times its edge, the first and the last brick of a direction
  std::function<double()> coefficient = [] { return 1.0; };  // of bricks, one after the other; 0: solid
};

/// Of one box.
class Assembly {
 public:
  explicit Assembly(const Bricks& box) : box_(box) {
    for (std::size_t d = 0; d < 3; d++) {
      bricks_[d] = box.wraps[d] ? box.nodes[d] : box.nodes[d] + (box.is_open ? 1 : -1);
      n_ *= box.nodes[d];
    }
    values_.resize(std::size_t(27 * n_));
    there_.resize(values_.size());
    for (i64 z = 0; z < bricks_[2]; z++)
      for (i64 y = 0; y < bricks_[1]; y++)
        for (i64 x = 0; x < bricks_[0]; x++) add({x, y, z}, box.coefficient());
  }

  /// Nodes that touch no brick but solid ones have the row of the identity.
  CsrMatrix matrix() const {
    CsrMatrix A;
    A.n = n_, A.indptr = {0};
    for (i64 row = 0; row < n_; row++) {
      std::array<i64, 27> order;
      std::size_t count = 0;
      for (i64 s = 0; s < 27; s++)
        if (there_[std::size_t(27 * row + s)]) order[count++] = s;
      std::sort(order.begin(), order.begin() + std::ptrdiff_t(count),
                [&](i64 a, i64 b) { return column(row, a) < column(row, b); });
      for (std::size_t k = 0; k < count; k++) {
        const double value = values_[std::size_t(27 * row + order[k])];
        A.indices.push_back(i32(column(row, order[k])));
        A.values.push_back(order[k] == 13 && value == 0 ? 1 : value);
      }
      A.indptr.push_back(i64(A.indices.size()));
    }
    return A;
  }

 private:
  double edge(std::size_t d, i64 brick) const {
    const double part = bricks_[d] > 1 ? double(brick) / double(bricks_[d] - 1) : 0;
    const bool is_at_wall = brick == 0 || brick + 1 == bricks_[d];
    return box_.edges[d] * (box_.graded[d] ? std::pow(box_.grading, part) : 1) * (is_at_wall ? box_.thin_walls[d] : 1);
  }
  /// The node at a brick's side in a direction; -1: none.
  i64 node(std::size_t d, i64 brick, int side) const {
    if (box_.wraps[d]) return (brick + side) % box_.nodes[d];
    const i64 at = brick + side - (box_.is_open ? 1 : 0);
    return at < box_.nodes[d] ? at : -1;
  }
  i64 column(i64 row, i64 slot) const {
    i64 at[] = {row % box_.nodes[0], row / box_.nodes[0] % box_.nodes[1], row / (box_.nodes[0] * box_.nodes[1])}, to = 0;
    const i64 by[] = {slot % 3 - 1, slot / 3 % 3 - 1, slot / 9 - 1};
    for (std::size_t d = 3; d-- > 0;) to = to * box_.nodes[d] + (at[d] + by[d] + box_.nodes[d]) % box_.nodes[d];
    return to;
  }
  void add(const Extents& brick, double k) {
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        i64 row = 0, slot = 0;
        double stiff[3], mass[3];
        bool is_there = true;
        for (std::size_t d = 3; d-- > 0;) {
          const int a = i >> d & 1, b = j >> d & 1;
          const double h = edge(d, brick[d]);
          stiff[d] = (a == b ? 1 : -1) / h, mass[d] = h / (a == b ? 3 : 6);
          const i64 from = node(d, brick[d], a);
          is_there = is_there && from >= 0 && node(d, brick[d], b) >= 0;
          row = row * box_.nodes[d] + from, slot = 3 * slot + b - a + 1;
        }
        if (!is_there) continue;
        const double part = stiff[0] * mass[1] * mass[2] + mass[0] * stiff[1] * mass[2] + mass[0] * mass[1] * stiff[2];
        values_[std::size_t(27 * row + slot)] += k * part;
        there_[std::size_t(27 * row + slot)] = true;
      }
  }

  const Bricks& box_;
  Extents bricks_{};
  i64 n_ = 1;
  std::vector<double> values_;
  std::vector<bool> there_;
};

/// -div(k grad u) on a box of bricks.
inline CsrMatrix matrix_of(const Bricks& box) { return Assembly(box).matrix(); }

}  // namespace brick_boxes
