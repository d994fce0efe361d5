#include "sordino/hmatrix/leaf_ranks.hpp"

#include <bit>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 least_of_a_thread = 64;  // blocks

/// Blocks of a kind have as many rows and columns, up to a factor of two.
using Kind = std::pair<int, int>;
Kind kind_of(const Block& b) { return {std::bit_width(u32(b.rows.size())), std::bit_width(u32(b.columns.size()))}; }

/// Admissible blocks by kinds: those to be compressed, of each kind the first one at least, and the others.
struct Sample {
  std::map<Kind, std::vector<i64>> drawn;
  std::vector<i64> others, all_drawn;
};

Sample draw(std::span<const Block> leaves, int every, std::mt19937_64& random) {
  Sample s;
  for (i64 l = 0; l < i64(leaves.size()); l++) {
    const Block& b = leaves[std::size_t(l)];
    if (!b.admissible) continue;
    std::vector<i64>& of_kind = s.drawn[kind_of(b)];
    const bool taken = random() % u64(every) == 0 || of_kind.empty();
    if (taken) of_kind.push_back(l);
    (taken ? s.all_drawn : s.others).push_back(l);
  }
  return s;
}

}  // namespace

std::vector<i32> leaf_ranks(const Generator& generator, const BuildOptions& options, int every) {
  if (every < 1) bad_argument("of every " + std::to_string(every) + " blocks none can be drawn: give 1 or more");
  const TreeOptions how{.eta = options.eta, .leaf = options.leaf, .threads = options.threads};
  const auto [tree, blocks] = make_trees(generator.points(), generator.size(), how);
  const LargeArray<Block>& leaves = blocks.leaves;
  std::mt19937_64 random(options.seed);
  const Sample sample = draw(leaves, every, random);
  std::vector<i32> ranks(leaves.size(), -1);
  auto part = [&](RowRange r) { return std::span(tree.order).subspan(std::size_t(r.begin), std::size_t(r.size())); };
  auto compress_some = [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; k++) {
      const i64 l = sample.all_drawn[std::size_t(k)];
      const Block& b = leaves[std::size_t(l)];
      const Section<double> section{generator, part(b.rows), part(b.columns)};
      ranks[std::size_t(l)] = compress(section, options.compression, options.seed + u64(l)).sum.rank;
    }
  };
  for_parts(0, i64(sample.all_drawn.size()), compress_some, least_of_a_thread, options.threads);
  for (i64 l : sample.others) {
    const std::vector<i64>& alike = sample.drawn.at(kind_of(leaves[std::size_t(l)]));
    const i32 rank = ranks[std::size_t(alike[random() % alike.size()])];
    ranks[std::size_t(l)] = std::min(rank, std::min(leaves[std::size_t(l)].rows.size(), leaves[std::size_t(l)].columns.size()));
  }
  return ranks;
}

HMatrix without_values(const Generator& generator, const BuildOptions& options, const std::vector<i32>& ranks) {
  return HMatrix(generator.points(), generator.size(), options.eta, options.leaf, {ranks, {}}, [](double*, i64) {});
}

}  // namespace sordino::hmatrix
