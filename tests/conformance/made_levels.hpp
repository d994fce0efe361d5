// Levels that are made of a grid's fields beside those of its rows, bit by bit.
#pragma once
#include <cstring>

#include "check.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "unit/fields.hpp"

namespace made_levels {

using namespace sordino;
using fields::Fields, fields::Wanted;

/// How fields differ from one trial to the next.
inline Wanted wanted(int trial, fresh::Random& random) {
  Wanted w;
  if (trial % 3 != 0) w.digits = random.real(1, 6);
  if (trial % 2 != 0) w.solid = random.real(0, 0.3);
  if (trial % 4 == 3) w.stretched = random.real(2, 8);
  w.is_open = trial % 5 != 4;
  return w;
}

inline GridLevels levels_of(const GridMatrix& A, int ranks) {
  const std::shared_ptr<GridMaker> maker = grid_maker(-1);
  const GridMatrix taken = maker->taken(A);
  const auto strengths = maker->strengths(taken);
  const Tiling layers = grid_layers(strengths, A.cells, ranks, level_rows_of_cpus);
  return GridLevels(maker, taken, usable_facts(*maker, taken), strengths, partition_in_layers(A.n(), layers, ranks),
                    level_rows_of_cpus);
}

inline GridLevels levels_of(const CsrView& A, const Extents& cells, int ranks) {
  return GridLevels(A, cells, partition_in_layers(A.n, grid_layers(A, cells, ranks), ranks));
}

inline bool same_bits(const void* a, const void* b, std::size_t bytes) { return std::memcmp(a, b, bytes) == 0; }

inline void check_same_rows(const CsrView& a, const CsrView& b) {
  CHECK(a.n == b.n);
  CHECK(a.nnz() == b.nnz());
  CHECK(same_bits(a.indptr, b.indptr, sizeof(i64) * std::size_t(a.n + 1)));
  CHECK(same_bits(a.indices, b.indices, sizeof(i32) * std::size_t(a.nnz())));
  CHECK(same_bits(a.values, b.values, sizeof(double) * std::size_t(a.nnz())));
}

/// How many levels stay by fields.
inline int check_same_levels(const GridLevels& made, const GridLevels& of_rows) {
  CHECK(made.count() == of_rows.count());
  CHECK(made.last_grid() == of_rows.last_grid());
  CHECK(made.degree() == of_rows.degree());
  int by_fields = 0;
  for (int l = 0; l <= made.last_grid(); l++) {
    NOTE("level ", l);
    const GridLevel &here = made.level(l), &there = of_rows.level(l);
    CHECK(here.bound == there.bound);
    CHECK(here.has_phases == there.has_phases);
    CHECK(here.partition.block_rows == there.partition.block_rows);
    CHECK(here.diagonals.offsets == (here.made.A.is_given() ? std::vector<i64>{} : there.diagonals.offsets));
    if (here.made.A.is_given())
      check_same_rows(rows_of(here.made.A).view(), of_rows.matrix(l)), by_fields++;
    else
      check_same_rows(here.A.view(), of_rows.matrix(l));
    const std::size_t bytes = l == 0 ? 0 : sizeof(CellWeights) * std::size_t(made.level(l - 1).partition.n);
    if (bytes > 0) CHECK(same_bits(here.restriction(), there.restriction(), bytes));
    if (bytes > 0) CHECK(same_bits(here.interpolation(), there.interpolation(), bytes));
  }
  check_same_rows(made.last_inverse().view(), of_rows.last_inverse().view());
  return by_fields;
}

}  // namespace made_levels
