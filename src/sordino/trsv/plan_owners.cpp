#include "sordino/trsv/plan_owners.hpp"

#include <queue>

namespace sordino::trsv {
namespace {

/// The largest subtrees, none larger than `most` unless it is a single block.
std::vector<i32> subtrees_up_to(const Blocks& blocks, const std::vector<i64>& sums, i64 most) {
  std::vector<std::vector<i32>> children(std::size_t(blocks.count()));
  auto smaller = [&](i32 a, i32 b) { return sums[std::size_t(a)] < sums[std::size_t(b)]; };
  std::priority_queue<i32, std::vector<i32>, decltype(smaller)> largest(smaller);
  for (i32 k = 0; k < blocks.count(); k++) {
    const i32 above = blocks.parent[std::size_t(k)];
    if (above == no_parent)
      largest.push(k);
    else
      children[std::size_t(above)].push_back(k);
  }
  std::vector<i32> taken;
  while (!largest.empty()) {
    const i32 k = largest.top();
    largest.pop();
    if (sums[std::size_t(k)] <= most)
      taken.push_back(k);
    else
      for (i32 c : children[std::size_t(k)]) largest.push(c);
  }
  return taken;
}

}  // namespace

std::vector<i64> sizes_of(const Blocks& blocks) {
  std::vector<i64> sizes;
  for (const Block& b : blocks.blocks) {
    const i64 last = b.strip + b.strips() - 1;
    sizes.push_back(blocks.strips[std::size_t(last)] + strip_of(b, b.strips() - 1).size() -
                    blocks.strips[std::size_t(b.strip)]);
  }
  return sizes;
}

std::vector<i64> sums_of_subtrees(const Blocks& blocks, const std::vector<i64>& sizes) {
  std::vector<i64> sums = sizes;
  for (i32 k = 0; k < blocks.count(); k++)
    if (const i32 above = blocks.parent[std::size_t(k)]; above != no_parent) sums[std::size_t(above)] += sums[std::size_t(k)];
  return sums;
}

std::vector<i32> owners_of(const Blocks& blocks, int ranks, i64 whole) {
  std::vector<i32> owner(std::size_t(blocks.count()), 0);
  if (ranks == 1) return owner;
  const std::vector<i64> sizes = sizes_of(blocks), sums = sums_of_subtrees(blocks, sizes);
  std::vector<i64> load(std::size_t(ranks), 0);
  auto take = [&](i64 size) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += size;
    return i32(least - load.begin());
  };
  owner.assign(owner.size(), -1);
  for (i32 root : subtrees_up_to(blocks, sums, std::max(blocks.values / (4 * ranks), whole)))
    std::fill(owner.begin() + blocks.first[std::size_t(root)], owner.begin() + root + 1, take(sums[std::size_t(root)]));
  for (std::size_t k = 0; k < owner.size(); k++)
    if (owner[k] < 0) owner[k] = take(sizes[k]);
  return owner;
}

}  // namespace sordino::trsv
