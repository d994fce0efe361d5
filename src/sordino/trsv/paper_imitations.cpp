#include "sordino/trsv/paper_imitations.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sordino/base/error.hpp"

namespace sordino::trsv::paper {
namespace {

/// Columns of the trunk, so that the whole has its levels.
i32 trunk_of(const Imitation& m) {
  i32 trunk = 0, depth = 0;
  do {
    trunk = m.levels - depth++;
    if (trunk < 1) return 0;
  } while (m.supernodes - trunk >= i64(1) << (m.levels - trunk));
  return trunk;
}

/// Blocks below the diagonal that a column of the branches has, so that all have `entries`; not whole.
double blocks_of_branch(const Imitation& m, i32 trunk) {
  const double square = double(m.width) * m.width, below = m.entries / square - m.supernodes * 0.5;
  return m.dense_trunk ? (below - trunk * (trunk - 1.0) / 2) / (m.supernodes - trunk) : below / m.supernodes;
}

/// Adds different random numbers of first, ..., end - 1 until there are `count` in all, or no others left.
void draw(std::vector<i32>& rows, i32 count, i32 first, i32 end, std::mt19937_64& random) {
  const std::size_t most = rows.size() + std::size_t(std::max(end - first, 0));
  while (i32(rows.size()) < count && rows.size() < most) {
    const i32 row = first + i32(random() % u64(end - first));
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
}

}  // namespace

const std::vector<Imitation>& imitations() {
  static const std::vector<Imitation> all{
      {"S1", 9827, 388, 8.80e8, 64, false},   {"DG", 2000, 199, 9.66e8, 192, true}, {"LU2", 1216, 264, 8.54e8, 216, false},
      {"LU4", 2383, 320, 1.87e9, 216, false}, {"Li", 362, 188, 5.18e8, 128, true},
  };
  return all;
}

Pattern pattern_of(const Imitation& m, u64 seed) {
  const i32 trunk = trunk_of(m), branches = m.supernodes - trunk;
  const double blocks = blocks_of_branch(m, trunk);
  if (trunk < 1 || branches < 1 || !(blocks >= 1 && blocks <= trunk))
    bad_argument("an imitation of " + m.name + " with " + std::to_string(m.supernodes) + " supernodes of " +
                 std::to_string(m.width) + " columns cannot have its levels and entries");
  std::mt19937_64 random(seed);
  Pattern p;
  p.begin.assign(1, 0);
  for (i32 K = 0; K <= m.supernodes; K++) p.column.push_back(K * m.width);
  for (i32 K = 0; K < m.supernodes; K++) {
    const i32 count = 1 + i32(blocks) + i32(std::generate_canonical<double, 53>(random) < blocks - std::floor(blocks));
    const bool in_trunk = K >= branches;
    std::vector<i32> rows{K};
    if (in_trunk && K + 1 < m.supernodes) rows.push_back(K + 1);
    if (!in_trunk) rows.push_back(branches - (branches - K) / 2);  // its parent; of the tree's root the trunk's first column
    draw(rows, in_trunk && m.dense_trunk ? m.supernodes : count, in_trunk ? K + 2 : branches + 1, m.supernodes, random);
    std::sort(rows.begin(), rows.end());
    p.row.insert(p.row.end(), rows.begin(), rows.end());
    p.begin.push_back(i64(p.row.size()));
  }
  p.height.assign(p.row.size(), m.width);
  return p;
}

}  // namespace sordino::trsv::paper
