// Rows that have an entry on every diagonal, as most of a stencil have: nobody needs to look for theirs one by one.
#pragma once
#include <span>
#include <vector>

#include "sordino/linalg/csr.hpp"

namespace sordino {

/// Whether a row's columns are these, counted from it, and no others. Compared several an instruction.
inline bool is_alike(const CsrView& A, i64 row, std::span<const i32> offsets) {
  const i64 begin = A.begin(row);
  if (A.begin(row + 1) - begin != i64(offsets.size())) return false;
  const i32* const columns = A.indices + begin;
  i32 differ = 0;
  for (std::size_t k = 0; k < offsets.size(); k++) differ |= (columns[k] - i32(row)) ^ offsets[k];
  return differ == 0;
}

/// Diagonals of a matrix's own order, which its columns fit in.
inline std::vector<i32> in_32_bits(const std::vector<i64>& offsets) { return {offsets.begin(), offsets.end()}; }

}  // namespace sordino
