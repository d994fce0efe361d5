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

/// By so many makers: one, or one for each rank.
inline std::shared_ptr<GridSlabs> slabs_of(const GridMatrix& A, int makers = 1) {
  return std::make_shared<GridSlabs>(A, std::vector<int>(std::size_t(makers), -1));
}

inline GridLevels levels_of(const GridMatrix& A, int ranks, int makers = 1) {
  const auto slabs = slabs_of(A, makers);
  const auto strengths = slabs->strengths();
  const Tiling layers = grid_layers(strengths, A.cells, ranks, level_rows_of_cpus);
  return GridLevels(slabs, strengths, partition_in_layers(A.n(), layers, ranks), level_rows_of_cpus);
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

/// What is made of a level's rows from any of these on, of those of its slab, has the bits of `all` [n].
template <class T, class Made>
void check_same_in_slabs(const SlabLevel& made, i64 MadeSlab::* begin, i64 MadeSlab::* end, const Made& of_row, const T* all) {
  for (const MadeSlab& slab : made.slabs) {
    const i64 rows = slab.*end - slab.*begin;
    CHECK(same_bits(of_row(slab.*begin), all + slab.*begin, sizeof(T) * std::size_t(rows)));
    CHECK(rows > 0);
    CHECK(of_row(slab.*begin + rows - 1) == of_row(slab.*begin) + (rows - 1));
  }
}

/// Of a level that stays by fields.
inline void check_same_rows(const SlabLevel& made, const CsrView& A) {
  std::vector<double> inverse;
  for (i64 row = 0; row < A.n; row++)
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
      if (A.indices[k] == row) inverse.push_back(1 / A.values[k]);
  check_same_in_slabs(
      made, &MadeSlab::begin, &MadeSlab::end, [&](i64 row) { return made.inverse_diagonal(row); }, inverse.data());
  i64 rows = 0;
  for (const MadeSlab& slab : made.slabs) {
    const LargeCsr here = rows_of(slab.made.A);
    for (i64 row = slab.begin; row < slab.end; row++, rows++) {
      const i64 begin = here.view().begin(row - slab.first), entries = A.begin(row + 1) - A.begin(row);
      CHECK(here.view().begin(row - slab.first + 1) - begin == entries);
      CHECK(same_bits(here.values.data() + begin, A.values + A.begin(row), sizeof(double) * std::size_t(entries)));
      for (i64 k = 0; k < entries; k++) CHECK(here.indices[std::size_t(begin + k)] + slab.first == A.indices[A.begin(row) + k]);
    }
  }
  CHECK(rows == A.n);
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
    CHECK(here.diagonals.offsets == (here.made.has_rows() ? std::vector<i64>{} : there.diagonals.offsets));
    if (here.made.has_rows())
      check_same_rows(here.made, of_rows.matrix(l)), by_fields++;
    else
      check_same_rows(here.A.view(), of_rows.matrix(l));
    if (l == 0) continue;
    const std::size_t bytes = sizeof(CellWeights) * std::size_t(made.level(l - 1).partition.n);
    if (here.made.is_given()) {
      const auto check_weights = [&](const auto& of_row, const CellWeights* all) {
        check_same_in_slabs(here.made, &MadeSlab::fine_begin, &MadeSlab::fine_end, of_row, all);
      };
      check_weights([&](i64 row) { return here.restriction(row); }, there.restriction(0));
      check_weights([&](i64 row) { return here.interpolation(row); }, there.interpolation(0));
    } else {
      CHECK(same_bits(here.restriction(0), there.restriction(0), bytes));
      CHECK(same_bits(here.interpolation(0), there.interpolation(0), bytes));
    }
  }
  check_same_rows(made.last_inverse().view(), of_rows.last_inverse().view());
  return by_fields;
}

}  // namespace made_levels
