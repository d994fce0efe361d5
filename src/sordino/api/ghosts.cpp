#include "sordino/api/ghosts.hpp"

namespace sordino {

i64 ghosts_of(const CsrView& A, const Partition& p, int rank, const Diagonals& diagonals, std::vector<i32>& seen, i32 mark) {
  if (!diagonals.empty()) return i64(columns_outside(diagonals, A.n, p.first_row(rank), p.rows(rank)).size());
  i64 ghosts = 0, begin = p.first_row(rank), end = p.first_row(rank + 1);
  for (i64 k = A.indptr[begin]; k < A.indptr[end]; k++) {
    i32 column = A.indices[k];
    if ((column >= begin && column < end) || seen[std::size_t(column)] == mark) continue;
    seen[std::size_t(column)] = mark;
    ghosts++;
  }
  return ghosts;
}

i64 ghosts_inside(const System& s, const Choice& c, int ranks) {
  const Partition p = partition_of(s, c, ranks);
  std::vector<i32> seen(c.storage.diagonals.empty() ? std::size_t(s.A.n) : 0, 0);
  return ghosts_of(s.A, p, ranks / 2, c.storage.diagonals, seen, 1);
}

}  // namespace sordino
