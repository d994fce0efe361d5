// Triangles of grids, and the words that programs which measure them are given.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/trsv/elimination_tree.hpp"

namespace bench {
using namespace sordino;

/// 7, 27 or 5 points; cells along a side; unknowns of a cell.
struct Grid {
  int points, side, unknowns;
  i64 cells() const { return points == 5 ? i64(side) * side : i64(side) * side * side; }
};

struct Triangle {
  std::vector<i64> begin;
  std::vector<i32> rows;
  trsv::LowerPattern pattern() const { return {i64(begin.size()) - 1, begin.data(), rows.data()}; }
};

inline std::vector<i32> order_in(const char* path, i64 cells) {
  std::vector<i32> order(std::size_t(cells), 0);
  std::FILE* file = std::fopen(path, "rb");
  if (!file || i64(std::fread(order.data(), sizeof(i32), order.size(), file)) != cells)
    bad_argument("there are not " + std::to_string(cells) + " numbers in " + path);
  std::fclose(file);
  return order;
}

/// The cells as they are.
inline std::vector<i32> natural_order(const Grid& g) {
  std::vector<i32> order(std::size_t(g.cells()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Both halves of the longest side, then the plane between them.
inline std::vector<i32> nested_order(const Grid& g) {
  struct Box {
    int low[3], high[3];
  };
  std::vector<i32> order;
  std::function<void(Box)> number = [&](Box box) {
    int longest = 0;
    for (int d : {1, 2})
      if (box.high[d] - box.low[d] > box.high[longest] - box.low[longest]) longest = d;
    if (box.high[longest] - box.low[longest] > 3) {
      const int middle = (box.low[longest] + box.high[longest]) / 2;
      Box left = box, right = box;
      left.high[longest] = middle, right.low[longest] = middle + 1;
      number(left), number(right);
      box.low[longest] = middle, box.high[longest] = middle + 1;
    }
    for (int z = box.low[2]; z < box.high[2]; z++)
      for (int y = box.low[1]; y < box.high[1]; y++)
        for (int x = box.low[0]; x < box.high[0]; x++) order.push_back(x + g.side * (y + g.side * z));
  };
  number({{0, 0, 0}, {g.side, g.side, g.points == 5 ? 1 : g.side}});
  return order;
}

/// Of the grid's matrix with the unknowns of cell order[0] first: each column's rows in any order.
inline Triangle lower_triangle(const Grid& g, const std::vector<i32>& order) {
  std::vector<i32> place(order.size());
  for (std::size_t k = 0; k < order.size(); k++) place[std::size_t(order[k])] = i32(k);
  Triangle t;
  t.begin.push_back(0);
  const int depth = g.points == 5 ? 1 : g.side, far = g.points == 27 ? 3 : 1;
  for (std::size_t k = 0; k < order.size(); k++) {
    const int cell = order[k], x = cell % g.side, y = cell / g.side % g.side, z = cell / g.side / g.side;
    for (int u = 0; u < g.unknowns; u++) {
      for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
          for (int dx = -1; dx <= 1; dx++) {
            if (std::abs(dx) + std::abs(dy) + std::abs(dz) > far) continue;
            const int nx = x + dx, ny = y + dy, nz = z + dz;
            if (nx < 0 || ny < 0 || nz < 0 || nx >= g.side || ny >= g.side || nz >= depth) continue;
            const i32 there = place[std::size_t(nx + g.side * (ny + g.side * nz))];
            for (int v = 0; v < g.unknowns; v++)
              if (i64(there) * g.unknowns + v >= i64(k) * g.unknowns + u) t.rows.push_back(there * g.unknowns + v);
          }
      t.begin.push_back(i64(t.rows.size()));
    }
  }
  return t;
}

/// Arguments: name=value.
struct Words {
  std::map<std::string, std::string> values;
  Words(int argc, char** argv, int first) {
    for (int k = first; k < argc; k++) {
      const std::string word = argv[k];
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
  }
  i64 number(const char* name, i64 otherwise) const {
    const auto found = values.find(name);
    return found == values.end() ? otherwise : std::atoll(found->second.c_str());
  }
  bool is(const char* name, const char* value) const { return word(name, "") == value; }
  std::string word(const char* name, const char* otherwise) const {
    const auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
};

inline void print_words(const Words& words) {
  for (const auto& [name, value] : words.values) std::printf(", \"%s\": \"%s\"", name.c_str(), value.c_str());
}

/// Without the first `warm` ones.
inline double median_of(std::vector<double> seconds, int warm = 0) {
  seconds.erase(seconds.begin(), seconds.begin() + warm);
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace bench
