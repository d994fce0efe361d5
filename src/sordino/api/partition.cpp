// Which rows ranks own, and whether a process holds what its ranks multiply of them.
#include "sordino/api/part.hpp"
#include "sordino/base/error.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"

namespace sordino {

Partition partition_of(const System& s, const Choice& c, int ranks) {
  if (!c.tiling.one_a_rank() && !c.tiling.cells) return partition_in_layers(s.A.n, c.tiling, ranks);
  if (!s.cuts.empty()) {
    if (i64(s.cuts.size()) != ranks + 1)
      bad_argument("rows are cut for " + std::to_string(s.cuts.size() - 1) + " ranks, and there are " + std::to_string(ranks));
    return balance_within(s.A, s.cuts);
  }
  if (s.hmatrix) return hmatrix::balance(*s.hmatrix, ranks);
  if (s.complex_hmatrix) return hmatrix::balance(*s.complex_hmatrix, ranks);
  return s.product ? even_partition(s.A.n, ranks) : balance(s.A, ranks);
}

hmatrix::Ranks ranks_of(const Engine& engine, hmatrix::Distribution how) {
  const int local = engine.local_ranks();
  return {engine.first_rank() / local, engine.size() / local, local, how};
}

Partition partition_of(const System& s, const Choice& c, const Engine& engine) {
  Partition p = partition_of(s, c, engine.size());
  if (!s.has_hmatrix()) return p;
  hmatrix::Ranks ranks = ranks_of(engine, c.distribution);
  for (int r = 0; r <= p.ranks(); r++) ranks.cuts.push_back(p.first_row(r));
  if (s.hmatrix) s.hmatrix->require_part_of(ranks);
  if (s.complex_hmatrix) s.complex_hmatrix->require_part_of(ranks);
  if (s.coarse) s.coarse->require_part_of(ranks);
  if (s.complex_coarse) s.complex_coarse->require_part_of(ranks);
  return p;
}

}  // namespace sordino
