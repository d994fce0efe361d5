// Block-ILU as a textbook has it, row by row.
#pragma once
#include <vector>

#include "unit/linalg/matrices.hpp"

namespace matrices {

/// ILU(0) of the entries within blocks, and both triangular solves.
inline std::vector<double> textbook_ilu(const CsrMatrix& A, const std::vector<i64>& block, std::vector<double> r) {
  Rows rows = matrices::rows(A);
  for (std::size_t i = 0; i < rows.size(); i++) {
    std::erase_if(rows[i], [&](auto& entry) { return block[std::size_t(entry.first)] != block[i]; });
    for (auto& [k, value] : rows[i]) {
      if (k >= i32(i)) break;
      value /= rows[std::size_t(k)].at(k);
      for (auto& [j, u] : rows[std::size_t(k)])
        if (j > k && rows[i].count(j)) rows[i][j] -= value * u;
    }
  }
  for (std::size_t i = 0; i < rows.size(); i++)
    for (auto& [j, value] : rows[i])
      if (j < i32(i)) r[i] -= value * r[std::size_t(j)];
  for (std::size_t i = rows.size(); i-- > 0;) {
    for (auto& [j, value] : rows[i])
      if (j > i32(i)) r[i] -= value * r[std::size_t(j)];
    r[i] /= rows[i].at(i32(i));
  }
  return r;
}

}  // namespace matrices
