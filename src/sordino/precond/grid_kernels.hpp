// What is computed of each row, cell or aggregate while levels of a GridMatrix are made: functors for threads of the host and
// for kernels alike.
#pragma once
#include "sordino/linalg/grid_matrix.hpp"
#include "sordino/precond/cross_row.hpp"
#include "sordino/precond/row_facts.hpp"

namespace sordino {

/// What all rows say of their matrix.
struct GridFacts {
  static constexpr i64 none = i64(1) << 62;
  double bound = 0;         // of the eigenvalues of diag(A)^-1 A (Gershgorin)
  i64 steep = 0;            // rows whose couplings differ a hundredfold and more
  i64 not_positive = none;  // the first row whose diagonal is not positive,
  i64 not_finite = none;    // or that has a NaN or Inf
  bool is_open = false;     // some row that is coupled does not add up to zero
  double sum = 0;           // the largest magnitude of what a row adds up to,
  double magnitudes = 0;    // and of its entries', added up

  SORDINO_HD void merge(const GridFacts& o) {
    bound = bound < o.bound ? o.bound : bound;
    steep += o.steep;
    not_positive = o.not_positive < not_positive ? o.not_positive : not_positive;
    not_finite = o.not_finite < not_finite ? o.not_finite : not_finite;
    is_open = is_open || o.is_open;
    sum = sum < o.sum ? o.sum : sum;
    magnitudes = magnitudes < o.magnitudes ? o.magnitudes : magnitudes;
  }
};

namespace grid_kernels {

/// A grid's cells, as numbers that a thread divides by.
struct Cells {
  i32 count[3];

  explicit Cells(const Extents& cells) : count{i32(cells[0]), i32(cells[1]), i32(cells[2])} {}
  SORDINO_HD void place(i64 row, i32 (&at)[3]) const {
    const u32 number = u32(row), nx = u32(count[0]), ny = u32(count[1]), line = number / nx, z = line / ny;
    at[0] = i32(number - line * nx), at[1] = i32(line - z * ny), at[2] = i32(z);
  }
  SORDINO_HD i64 stride(int d) const { return d == 0 ? 1 : d == 1 ? count[0] : i64(count[0]) * count[1]; }
  SORDINO_HD i64 row(const i32 (&at)[3]) const { return at[0] + stride(1) * at[1] + stride(2) * at[2]; }
};

/// Reads rows of a GridMatrix.
struct GridRows {
  Cells cells;
  const double* diagonal;
  const double* ahead[3];

  explicit GridRows(const GridMatrix& A) : cells(A.cells), diagonal(A.diagonal), ahead{A.ahead[0], A.ahead[1], A.ahead[2]} {}
  SORDINO_HD CrossRow row(i64 i, const i32 (&at)[3]) const {
    CrossRow row;
    row.own = diagonal[i];
    for (int d = 0; d < 3; d++) {
      if (at[d] > 0) row.to[d][0] = ahead[d][i - cells.stride(d)];
      if (at[d] + 1 < cells.count[d]) row.to[d][1] = ahead[d][i];
    }
    return row;
  }
};

/// Of row first + k, for a sum over all.
struct LookAtRow {
  GridRows A;
  i64 first;

  SORDINO_HD GridFacts operator()(i64 k) const {
    const i64 i = first + k;
    i32 at[3];
    A.cells.place(i, at);
    const CrossRow row = A.row(i, at);
    RowFacts of_row;
    double sum = 0;
    int entries = 0;
    row.in_order(
        [&](double entry, int d, int side) {
          of_row.add(entry, false);
          sum += entry;
          entries += side == 0 ? at[d] > 0 : at[d] + 1 < A.cells.count[d];
        },
        [&](double own) {
          of_row.add(own, true);
          sum += own;
          entries++;
        });
    GridFacts facts;
    facts.bound = of_row.magnitudes / of_row.diagonal;
    facts.steep = of_row.is_steep();
    if (!(of_row.diagonal > 0)) facts.not_positive = i;
    if (!(of_row.magnitudes <= std::numeric_limits<double>::max())) facts.not_finite = i;
    const double rounding = entries * std::numeric_limits<double>::epsilon() * of_row.magnitudes;
    facts.is_open = of_row.couples() && std::fabs(sum) > rounding;
    facts.sum = std::fabs(sum);
    facts.magnitudes = of_row.magnitudes;
    return facts;
  }
};

/// Aggregate i: its row of the coarse matrix, and what P takes for its cells.
struct SumAggregate {
  GridRows fine;
  Cells coarse;
  i32 step[3];
  double* diagonal;
  double* ahead[3];
  CellWeights* from_this;

  SORDINO_HD void operator()(i64 i) const {
    i32 corner[3], at[3];
    coarse.place(i, corner);
    CrossSum sum;
    const bool is_paired[3] = {step[0] == 2, step[1] == 2, step[2] == 2};
    for (i32 z = 0; z < step[2]; z++)
      for (i32 y = 0; y < step[1]; y++)
        for (i32 x = 0; x < step[0]; x++) {
          const i32 nth[3] = {x, y, z};
          CellPlace places[3];
          bool is_inside = true;
          for (int d = 0; d < 3; d++) {
            at[d] = corner[d] * step[d] + nth[d];
            is_inside = is_inside && at[d] < fine.cells.count[d];
            const bool is_alone = !is_paired[d] || (nth[d] == 0 && at[d] + 1 == fine.cells.count[d]);
            places[d] = is_alone ? alone_there : CellPlace(nth[d]);
          }
          if (!is_inside) continue;
          const i64 cell = fine.cells.row(at);
          sum.add(fine.row(cell, at), places, from_this[cell]);
        }
    const CrossRow row = sum.row(is_paired);
    diagonal[i] = row.own;
    for (int d = 0; d < 3; d++)
      if (ahead[d]) ahead[d][i] = row.to[d][1];
  }
};

/// Cell i of the fine level: P^T of it, which takes from cells behind what those take from their neighbours' aggregates.
struct TakeBehind {
  Cells fine;
  i32 step[3];
  const CellWeights* from_this;
  CellWeights* to_this;

  SORDINO_HD void operator()(i64 i) const {
    i32 at[3];
    fine.place(i, at);
    CellWeights to = from_this[i];
    for (int d = 0; d < 3; d++) {
      if (step[d] == 1) continue;
      const i32 last = fine.count[d] - 1, place = at[d] + (at[d] % 2 != 0 ? 1 : -1);
      const i32 other = place < 0 ? last : place > last ? 0 : place;
      to.across[d] = from_this[i + fine.stride(d) * (other - at[d])].across[d];
    }
    to_this[i] = to;
  }
};

struct InvertDiagonal {
  const double* diagonal;
  double* inverse;

  SORDINO_HD void operator()(i64 i) const { inverse[i] = 1 / diagonal[i]; }
};

/// A row's couplings in each direction, as means over the sides on which the box goes on, as parts of 1 (grid_steps.hpp).
SORDINO_HD inline void parts_of_1(const double (&couplings)[3], const int (&sides)[3], double* to) {
  double parts[3], all = 0;
  for (int d = 0; d < 3; d++) {
    parts[d] = sides[d] > 0 ? couplings[d] / sides[d] : couplings[d];
    if (sides[d] > 0) all += parts[d];
    to[d] = 0;
  }
  if (!(all > 0) || !(all <= std::numeric_limits<double>::max())) return;
  for (int d = 0; d < 3; d++) to[d] = parts[d] / all;
}

/// The same of row i * apart.
struct FindStrengths {
  GridRows A;
  i64 apart;
  double* to;  // [looked at][3]

  SORDINO_HD void operator()(i64 i) const {
    i32 at[3];
    A.cells.place(i * apart, at);
    const CrossRow row = A.row(i * apart, at);
    double couplings[3];
    int sides[3];
    for (int d = 0; d < 3; d++) {
      couplings[d] = std::fabs(row.to[d][0]) + std::fabs(row.to[d][1]);
      sides[d] = (at[d] > 0) + (at[d] + 1 < A.cells.count[d]);
    }
    parts_of_1(couplings, sides, to + 3 * i);
  }
};

/// Row first + i, by diagonals: its entries where DiagonalPlaces says.
struct FillPlaces {
  static constexpr i64 nowhere = -1;
  GridRows A;
  i64 first, rows;
  i64 behind[3], own, ahead[3];  // where the diagonals begin; `nowhere` in directions of one cell
  bool symmetric;                // then a diagonal ahead is the one behind, from some place on
  double* to;

  SORDINO_HD void operator()(i64 i) const {
    i32 at[3];
    A.cells.place(first + i, at);
    const CrossRow row = A.row(first + i, at);
    to[own + i] = row.own;
    for (int d = 0; d < 3; d++) {
      if (behind[d] == nowhere) continue;
      to[behind[d] + i] = row.to[d][0];
      const bool is_mirror = symmetric && i + (ahead[d] - behind[d]) < rows;  // of a row of this slice, which writes it
      if (!is_mirror) to[ahead[d] + i] = row.to[d][1];
    }
  }
};

}  // namespace grid_kernels
}  // namespace sordino
