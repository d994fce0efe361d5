// Lower triangles for tests of trsv/.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

#include "sordino/trsv/elimination_tree.hpp"
#include "sordino/trsv/values.hpp"
#include "unit/fresh.hpp"

namespace triangles {

using sordino::i32;
using sordino::i64;

/// Columns of a lower triangle, the diagonal first.
struct Columns {
  i64 n = 0;
  std::vector<i64> begin = {};
  std::vector<i32> rows = {};
  sordino::trsv::LowerPattern pattern() const { return {n, begin.data(), rows.data()}; }
};

inline Columns columns_of(const std::vector<std::vector<i32>>& below) {
  Columns c;
  c.n = i64(below.size());
  c.begin.push_back(0);
  for (std::size_t j = 0; j < below.size(); j++) {
    c.rows.push_back(i32(j));
    c.rows.insert(c.rows.end(), below[j].begin(), below[j].end());
    c.begin.push_back(i64(c.rows.size()));
  }
  return c;
}

/// Each row below a column has an entry there with this probability.
inline Columns scattered(fresh::Random& random, i64 n, double chance) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i64 j = 0; j < n; j++)
    for (i64 i = j + 1; i < n; i++)
      if (random.chance(chance)) below[std::size_t(j)].push_back(i32(i));
  return columns_of(below);
}

/// The lower triangle of a grid's 7-point matrix, cell (x, y, z) being row place[x + nx (y + ny z)].
inline Columns grid(i32 nx, i32 ny, i32 nz, const std::vector<i32>& place) {
  std::vector<std::vector<i32>> below(place.size());
  auto at = [&](i32 x, i32 y, i32 z) { return place[std::size_t(x + nx * (y + ny * z))]; };
  auto connect = [&](i32 a, i32 b) { below[std::size_t(std::min(a, b))].push_back(std::max(a, b)); };
  for (i32 z = 0; z < nz; z++)
    for (i32 y = 0; y < ny; y++)
      for (i32 x = 0; x < nx; x++) {
        if (x + 1 < nx) connect(at(x, y, z), at(x + 1, y, z));
        if (y + 1 < ny) connect(at(x, y, z), at(x, y + 1, z));
        if (z + 1 < nz) connect(at(x, y, z), at(x, y, z + 1));
      }
  return columns_of(below);
}

/// Numbered along x, y, z.
inline Columns grid(i32 nx, i32 ny, i32 nz) {
  std::vector<i32> place(std::size_t(i64(nx) * ny * nz));
  std::iota(place.begin(), place.end(), 0);
  return grid(nx, ny, nz, place);
}

/// Numbered by nested dissection: both halves of the longest side, then the plane between them.
inline Columns nested_grid(i32 nx, i32 ny, i32 nz) {
  using Box = std::array<std::array<i32, 2>, 3>;
  std::vector<i32> place(std::size_t(i64(nx) * ny * nz));
  i32 next = 0;
  std::function<void(Box)> number = [&](Box box) {
    auto side = [&](std::size_t d) { return box[d][1] - box[d][0]; };
    std::size_t longest = 0;
    for (std::size_t d : {1, 2})
      if (side(d) > side(longest)) longest = d;
    if (side(longest) > 3) {
      const i32 middle = (box[longest][0] + box[longest][1]) / 2;
      Box left = box, right = box;
      left[longest][1] = middle, right[longest][0] = middle + 1;
      number(left), number(right);
      box[longest] = {middle, middle + 1};
    }
    for (i32 z = box[2][0]; z < box[2][1]; z++)
      for (i32 y = box[1][0]; y < box[1][1]; y++)
        for (i32 x = box[0][0]; x < box[0][1]; x++) place[std::size_t(x + nx * (y + ny * z))] = next++;
  };
  number(Box{{{0, nx}, {0, ny}, {0, nz}}});
  return grid(nx, ny, nz, place);
}

/// The filled pattern, by elimination column by column: dense, for small n.
inline std::vector<std::vector<char>> filled(const Columns& c) {
  const std::size_t n = std::size_t(c.n);
  std::vector<std::vector<char>> L(n, std::vector<char>(n, 0));  // [column][row]
  for (std::size_t j = 0; j < n; j++)
    for (i64 k = c.begin[j]; k < c.begin[j + 1]; k++) L[j][std::size_t(c.rows[std::size_t(k)])] = 1;
  for (std::size_t j = 0; j < n; j++) {
    L[j][j] = 1;
    std::size_t first = j + 1;
    while (first < n && !L[j][first]) first++;
    for (std::size_t i = first; i < n; i++)
      if (L[j][i]) L[first][i] = 1;
  }
  return L;
}

inline Columns with_fill(const Columns& c) {
  const auto all = filled(c);
  std::vector<std::vector<i32>> below(std::size_t(c.n), std::vector<i32>{});
  for (std::size_t j = 0; j < all.size(); j++)
    for (std::size_t i = j + 1; i < all.size(); i++)
      if (all[j][i]) below[j].push_back(i32(i));
  return columns_of(below);
}

/// Rows with off-diagonal entries that add up to less than the diagonal, about: solutions neither grow nor vanish.
template <class V>
std::vector<V> values_of(const Columns& c, fresh::Random& random) {
  std::vector<double> in_row(std::size_t(c.n), 1);
  for (i32 row : c.rows) in_row[std::size_t(row)]++;
  auto draw = [&] {
    if constexpr (std::is_same_v<V, sordino::trsv::Number>)
      return V{random.normal(), random.normal()};
    else
      return V(random.normal());
  };
  std::vector<V> values;
  for (i64 j = 0; j < c.n; j++)
    for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++) {
      const i32 row = c.rows[std::size_t(k)];
      V value = draw();
      if (row == j)  // away from zero
        value = value * (V{1} * sordino::trsv::reciprocal(value)) + value +
                (sordino::trsv::magnitude(value + V{1}) < 0.5 ? V{1} : V{});
      else
        value = value * V(1 / in_row[std::size_t(row)]);
      values.push_back(value);
    }
  return values;
}

template <class V>
std::vector<V> vector_of(i64 count, fresh::Random& random) {
  std::vector<V> v;
  for (i64 i = 0; i < count; i++) {
    if constexpr (std::is_same_v<V, sordino::trsv::Number>)
      v.push_back({random.normal(), random.normal()});
    else
      v.push_back(V(random.normal()));
  }
  return v;
}

/// Triangles of many kinds, some of them of one row, dense, or without an entry off the diagonal.
inline std::vector<Columns> some(fresh::Random& random, int count) {
  std::vector<Columns> all{grid(1, 1, 1), grid(7, 1, 1), grid(5, 4, 3), scattered(random, 12, 1), scattered(random, 9, 0)};
  for (int k = 0; k < count; k++) all.push_back(scattered(random, random.whole(1, 60), random.real(0, 0.3)));
  return all;
}

}  // namespace triangles
