// Where rows of CSR begin, of how many entries they have.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/base/types.hpp"

namespace sordino {

/// From counts of each row, at the place behind it, to where rows begin; on several threads.
void add_up(LargeArray<i64>& starts);

}  // namespace sordino
