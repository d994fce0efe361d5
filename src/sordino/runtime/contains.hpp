// Short lists of vectors, scalars, slots or commands, asked for one of them.
#pragma once
#include <algorithm>
#include <vector>

namespace sordino {

/// Linear: the lists of a command have a few entries.
inline bool contains(const std::vector<int>& list, int x) { return std::find(list.begin(), list.end(), x) != list.end(); }

}  // namespace sordino
