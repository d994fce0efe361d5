// Sorting of many by a whole number: tables of millions of leaves, whose rows and columns are looked up but twice.
#pragma once
#include <numeric>
#include <utility>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

/// By key(item), which is 0, 1, ..., below `keys`; what has the same key keeps its order. O(items + keys). Sorting by the last
/// of several keys first, and by the first one last, sorts by all of them.
template <class T, class Key>
void sort_by(std::vector<T>& items, i64 keys, const Key& key) {
  std::vector<i64> next(static_cast<std::size_t>(keys));  // at first how many there are
  for (const T& item : items) next[std::size_t(key(item))]++;
  std::exclusive_scan(next.begin(), next.end(), next.begin(), i64(0));
  std::vector<T> sorted(items.size());
  for (T& item : items) sorted[std::size_t(next[std::size_t(key(item))]++)] = std::move(item);
  items = std::move(sorted);
}

}  // namespace sordino::hmatrix
