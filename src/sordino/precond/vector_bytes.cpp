#include "sordino/precond/vector_bytes.hpp"

#include "sordino/linalg/columns_outside.hpp"

namespace sordino {

i64 vector_bytes(const MultigridLevels& levels, int l, bool second_visits, int rank, i64 ghosts, bool device) {
  const i64 again = l > 0 && second_visits ? 1 : 0, own = l == 0 ? 0 : 1 + again, operands = 2 + again;
  const SmootherSize smoother = levels.smoother_size(l, rank, ghosts, device);
  const i64 numbers = (own + operands) * levels.partition(l).rows(rank) + operands * smoother.ghosts;
  return i64(sizeof(double)) * numbers + smoother.bytes + levels.transfer_bytes(l, rank, device);
}

i64 made_vector_bytes(const MultigridLevels& levels, bool second_visits, int rank, bool device) {
  i64 bytes = 0;
  for (int l = 0; l + 1 < levels.count(); l++) {
    const MadeRows made = levels.made(l);
    if (!made.is_given()) break;
    const Partition& p = levels.partition(l);
    const i64 ghosts = count_outside(made.diagonals, p.n, p.first_row(rank), p.rows(rank));
    bytes += vector_bytes(levels, l, second_visits, rank, ghosts, device);
  }
  return bytes;
}

}  // namespace sordino
