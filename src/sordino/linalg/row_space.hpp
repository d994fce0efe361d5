// The space of a matrix's vectors: a word for each row, or two where its rows are complex.
#pragma once
#include <vector>

#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// The same cuts, counted in words; 1 word a row: the partition itself.
Partition in_words(const Partition& rows, int words);
/// The words of these rows, in their order.
std::vector<i64> in_words(const std::vector<i64>& rows, int words);

/// Adds a rank's distributed rows to its spaces. A complex number is two words, real part first, which are two rows of the
/// space to all that does not care, and so are several columns' words of a row; functors with fields of numbers (handles.hpp)
/// run over Space::numbers, which is added, too.
int add_row_space(Rank& rank, const Partition& partition, int words);

}  // namespace sordino
