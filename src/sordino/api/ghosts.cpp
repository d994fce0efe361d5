#include "sordino/api/ghosts.hpp"

#include <algorithm>

#include "sordino/linalg/columns_outside.hpp"

namespace sordino {

i64 ghosts_of(const CsrView& A, const Partition& p, int rank, const Diagonals& diagonals, std::vector<i32>& seen, i32 mark) {
  if (diagonals.in_order()) return count_outside(diagonals, A.n, p.first_row(rank), p.rows(rank));
  i64 ghosts = 0, begin = p.first_row(rank), end = p.first_row(rank + 1);
  for (i64 k = A.indptr[begin]; k < A.indptr[end]; k++) {
    i32 column = A.indices[k];
    if ((column >= begin && column < end) || seen[std::size_t(column)] == mark) continue;
    seen[std::size_t(column)] = mark;
    ghosts++;
  }
  return ghosts;
}

i64 ghosts_of(const CsrView& rows, i64 first, i64 last) {
  std::vector<i32> outside;
  for (i64 k = rows.begin(first); k < rows.begin(last); k++)
    if (rows.indices[k] < first || rows.indices[k] >= last) outside.push_back(rows.indices[k]);
  std::sort(outside.begin(), outside.end());
  return std::unique(outside.begin(), outside.end()) - outside.begin();
}

i64 ghosts_inside(const System& s, const Choice& c, int ranks) {
  const Partition p = partition_of(s, c, ranks);
  const i64 first = p.first_row(ranks / 2), last = p.first_row(ranks / 2 + 1);
  const Diagonals& d = c.storage.diagonals;
  return d.in_order() ? count_outside(d, s.A.n, first, last - first) : ghosts_of(s.A, first, last);
}

}  // namespace sordino
