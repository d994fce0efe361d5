// Matrices with few diagonals, as stencils on boxes have: their entries need no columns (001, section IV: DIA).
#pragma once
#include <string>
#include <vector>

#include "sordino/linalg/csr.hpp"

namespace sordino {

constexpr int most_diagonals = 27;  // of a stencil on a box

/// Column minus row, in the order that has the diagonals (Diagonals::cells).
inline i64 offset_of(const i64* cells, i64 row, i64 column) { return cells ? cells[column] - cells[row] : column - row; }

/// The diagonals of a matrix that is stored by them; none: it is stored by rows.
struct Diagonals {
  std::vector<i64> offsets;  // column minus row, increasing
  bool symmetric = false;    // one of A[i][j] and A[j][i] is kept, for both
  bool unit = false;         // the main one is 1 everywhere, there are others, and it is not kept, but for constant ones
  bool constant = false;     // rows that are alike are kept once (row_kinds.hpp)
  /// [n] Where the matrix's rows are in another order than the one that has these diagonals: the place of each row in that one,
  /// of a grid its cell. Null: it is the same. Not owned.
  const i64* cells = nullptr;

  bool empty() const { return offsets.empty(); }
  /// Whether the column of a row on a diagonal is row + offset.
  bool in_order() const { return !empty() && !cells; }
  /// The diagonal that an entry is on, by its number.
  std::size_t of(i64 row, i64 column) const;
};

/// Those on which a matrix has entries, and how many.
struct FoundDiagonals {
  std::vector<i64> offsets;  // increasing; none: they are more than most_diagonals
  std::vector<i64> entries;
};
/// Cost: one pass over the arrays, on several threads, which ends early where there are too many.
FoundDiagonals find_diagonals(const CsrView& A, const i64* cells = nullptr);
/// Whether A[i][j] and A[j][i] are the same number wherever one of them is stored. Cost: a binary search an entry, likewise.
bool has_equal_mirrors(const CsrView& A);

/// Of the whole matrix, for option `storage`: csr, dia, symdia or constant. Throws with one sentence: bad_argument if the
/// matrix has more diagonals than most_diagonals, for symdia two entries that differ, or for constant too many different rows;
/// unsupported if its entries are complex. Cost: one pass over the arrays, one more for symdia and constant.
Diagonals diagonals_of(const CsrView& A, const std::string& storage, const i64* cells = nullptr);
/// The part of it that new values repeat. Throws bad_argument.
void require_storable(const CsrView& A, const Diagonals& diagonals);

/// Where a rank's slice keeps entry (i, offset d): values[at[d] + i], i counted from the slice's first row. Diagonals of -o and
/// o are one array, where they are symmetric: entry (i, -o) is at its place i, entry (i, o) at i + min(o, rows). Constant ones
/// take the kind of row i times their number instead of i, and room for as many kinds as there may be.
struct DiagonalPlaces {
  static constexpr i64 nowhere = -1;  // of a diagonal that is not kept
  std::vector<i64> at;                // for each diagonal
  i64 stored = 0;                     // values in all

  DiagonalPlaces(const Diagonals& diagonals, i64 rows);
};

/// Throws unsupported if a rank's diagonals have more places than 32 bits number.
void require_few_places(i64 stored);

/// The columns outside of [first, first + rows) that the diagonals touch from there, increasing. All of them, whether or not
/// there is an entry: so a diagonal's columns are consecutive among them.
std::vector<i64> columns_outside(const Diagonals& diagonals, i64 n, i64 first, i64 rows);

}  // namespace sordino
