// Incomplete factors as GPUs substitute them: on either way the rows of a triangle in the order of their levels, packed for
// warps. A row's entries stand in the order in which a host subtracts their products (incomplete_operator.cpp), so that the
// bits are the same.
#pragma once
#include <vector>

#include "sordino/trsv/level_slices.hpp"

namespace sordino::trsv {

/// L L^T of a symmetric matrix, or L U with a unit diagonal of L.
enum class Incomplete { ic0, ilu0 };

/// Where a rank's incomplete factors have entries, by rows, columns increasing: those of L, the diagonal, and, of ILU(0), those
/// of U. The arrays are somebody else's.
struct IncompletePattern {
  i32 rows = 0;
  const i64* begin = nullptr;     // [rows + 1]
  const i32* columns = nullptr;   // [entries]
  const i32* diagonal = nullptr;  // [rows] its entry, counted from the row's begin
};

/// One way of a substitution: L's, or that of U or L^T.
struct IncompleteWay {
  LevelSlices packed = {};
  std::vector<i32> columns = {};  // [slots] places; 0 where there is no entry
  std::vector<i64> sources = {};  // [slots] the entry of the factors whose value belongs there, or -1
  bool has_pivots = true;         // false: its diagonal is 1

  i32 rows() const { return i32(packed.rows().size()); }
  /// Device memory of its tables, values and numbers of x.
  i64 bytes() const;
};

/// Cost: linear in the entries, by one thread. Memory: 12 B for each entry of the triangle and place without one, and 16 B for
/// each row, kept; meanwhile as much again.
IncompleteWay way_forward(const IncompletePattern& factors, Incomplete kind);
IncompleteWay way_back(const IncompletePattern& factors, Incomplete kind);

/// Of the factors' entries, those of each slot; 0 where there is none. [slots]
std::vector<double> values_of(const IncompleteWay& way, const double* values);
/// Reciprocals of pivots, by rows of the factors, in the order of the slices. [rows]
std::vector<double> pivots_of(const IncompleteWay& way, const double* inverse_pivots);

}  // namespace sordino::trsv
