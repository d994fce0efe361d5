// How rows are paired (aggregation.hpp), for threads of hosts and of GPUs: what one row is to others.
#pragma once
#include <cmath>

#include "sordino/base/types.hpp"

namespace sordino::aggregates {

constexpr double strong = 0.25;          // of a row's largest coupling
constexpr double outweighed = 0.1;       // of a diagonal: what stands beside it in a row that is held
constexpr double over_correction = 1.6;  // of aggregates of four rows
constexpr double negligible = 1e-12;     // of what an aggregate's diagonals add up to: rounding
constexpr i32 unpaired = -1, outside = -2;

/// A square matrix in CSR, where it is looked at.
struct Entries {
  const i64* begins = nullptr;     // [rows + 1]
  const i32* columns = nullptr;    // [nnz]
  const double* values = nullptr;  // [nnz]
};

/// How a row is coupled.
struct Coupled {
  double most = -1;   // the largest -a_ij, or 0; -1: with nobody
  bool held = false;  // its diagonal outweighs all of them: smoothing solves it
};

/// What becomes of a row that is held, and has no such neighbour.
enum class Lonely { outside, alone };

SORDINO_HD inline Coupled coupled(const Entries& A, i64 i) {
  Coupled row;
  double diagonal = 0, others = 0;
  for (i64 k = A.begins[i]; k < A.begins[i + 1]; k++) {
    const double value = A.values[k];
    if (A.columns[k] == i) {
      diagonal = value;
    } else if (value != 0) {
      if (row.most < 0) row.most = 0;
      if (-value > row.most) row.most = -value;
      others += fabs(value);
    }
  }
  row.held = others < outweighed * diagonal;
  return row;
}

/// Which rows a rank has.
struct OneRanks {
  i64 first, end;
  SORDINO_HD bool has(i64 row) const { return row >= first && row < end; }
};

/// Whom rows may be paired with.
struct Rule {
  Entries A;
  const Coupled* rows;  // [rows]

  SORDINO_HD bool is_strong(i64 i, double coupling) const { return coupling > 0 && coupling >= strong * rows[i].most; }
  /// Of the rank's rows that are held if row i is, whether j is one that i is strongly coupled with.
  SORDINO_HD bool leans(i64 i, i64 j, double coupling, const OneRanks& rank) const {
    return j != i && rank.has(j) && rows[j].held == rows[i].held && is_strong(i, coupling);
  }
  /// Whether they may be a pair: the same for (j, i).
  SORDINO_HD bool may_pair(i64 i, i64 j, double coupling, const OneRanks& rank) const {
    return leans(i, j, coupling, rank) && is_strong(j, coupling);
  }

  /// Of those that i leans on, and that may(j, coupling) says, the one that it is coupled with most, of several the first; -1:
  /// none.
  template <class May>
  SORDINO_HD i32 strongest(i64 i, const OneRanks& rank, const May& may) const {
    i32 found = -1;
    double most = 0;
    for (i64 k = A.begins[i]; k < A.begins[i + 1]; k++) {
      const i32 j = A.columns[k];
      const double coupling = -A.values[k];
      if (coupling > most && leans(i, j, coupling, rank) && may(j, coupling)) found = j, most = coupling;
    }
    return found;
  }
  /// The partner of a row that has none, when the rows before it have theirs: they have left it nobody of their own. `is_free`:
  /// whether a row behind it has none.
  template <class IsFree>
  SORDINO_HD i32 partner(i64 i, const OneRanks& rank, const IsFree& is_free) const {
    return strongest(i, rank, [&](i32 j, double coupling) { return j > i && is_strong(j, coupling) && is_free(j); });
  }
  /// The one whose aggregate a row joins that is left.
  SORDINO_HD i32 joined(i64 i, const OneRanks& rank) const {
    return strongest(i, rank, [](i32, double) { return true; });
  }
  /// Where a row is that joins nobody.
  SORDINO_HD i32 by_itself(i64 i, Lonely lonely) const { return rows[i].held && lonely == Lonely::outside ? outside : i32(i); }
};

/// What stands in a coarse matrix for entries that add up to `sum`: an aggregate that nothing holds has its rows' diagonals.
SORDINO_HD inline double coarse_entry(bool on_diagonal, double sum, double diagonals) {
  if (on_diagonal && !(sum > negligible * diagonals)) sum = diagonals;
  return sum / over_correction;
}

}  // namespace sordino::aggregates
