#include "sordino/precond/grid_steps.hpp"

#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/precond/grid_neighbours.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Random couplings with all 26 neighbours inside the box, of both signs, of which some are not stored.
CsrMatrix random_matrix(fresh::Random& random, const Extents& cells, double holes) {
  CsrMatrix A;
  A.n = cells[0] * cells[1] * cells[2], A.indptr = {0};
  for (i64 row = 0; row < A.n; row++) {
    const Extents at = place(cells, row);
    for (int n = 0; n < GridNeighbours::count; n++) {
      Extents to = GridNeighbours::step(n);
      bool is_inside = true;
      for (std::size_t d = 0; d < 3; d++) to[d] += at[d], is_inside = is_inside && to[d] >= 0 && to[d] < cells[d];
      if (!is_inside || (n != GridNeighbours::itself && random.chance(holes))) continue;
      A.indices.push_back(i32(row_of(cells, to)));
      A.values.push_back(n == GridNeighbours::itself ? 26 : random.real(-1, 0.2));
    }
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

/// What grid_steps.hpp says of them, entry by entry.
std::array<double, 3> by_definition(const CsrMatrix& A, const Extents& cells) {
  std::array<double, 3> all{};
  for (i64 row = 0; row < A.n; row += rows_apart(A.n)) {
    const Extents at = place(cells, row);
    std::array<double, 3> sums{}, sizes{};
    bool has_edges = false;
    for (i64 k = A.indptr[std::size_t(row)]; k < A.indptr[std::size_t(row + 1)]; k++) {
      const Extents to = place(cells, A.indices[std::size_t(k)]);
      const double value = A.values[std::size_t(k)];
      int steps = 0;
      for (std::size_t d = 0; d < 3; d++)
        if (to[d] != at[d]) steps++, sums[d] -= value, sizes[d] += std::abs(value);
      has_edges = has_edges || (steps > 1 && value != 0);
    }
    std::array<double, 3> parts{};
    double total = 0;
    for (std::size_t d = 0; d < 3; d++) {
      const int sides = (at[d] > 0) + (at[d] + 1 < cells[d]);
      parts[d] = has_edges ? std::max(sums[d], 0.0) : sizes[d];
      if (sides > 0) parts[d] /= sides, total += parts[d];
    }
    for (std::size_t d = 0; d < 3; d++)
      if (total > 0) all[d] += parts[d] / total;
  }
  return all;
}

}  // namespace

TEST("strengths of couplings are what their definition says, bit by bit, on one thread and on several") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (double holes : {0.0, 0.02, 1.0}) {
    const Extents cells{random.whole(3, 20), random.whole(3, 20), random.whole(3, 20)};
    const CsrMatrix A = random_matrix(random, cells, holes);
    for (int sharers : {1, 1000}) {
      SharedCores share(sharers);
      CHECK(coupling_strengths(A.view(), cells) == by_definition(A, cells));
    }
  }
}
