// The matrix of a grid whose cells are coupled through their faces, as finite volumes with a coefficient of each face have it,
// by four arrays instead of rows: where a simulation has its fields, on the host or on a GPU.
#pragma once
#include "sordino/linalg/diagonals.hpp"
#include "sordino/linalg/extents.hpp"
#include "sordino/linalg/large_csr.hpp"

namespace sordino {

/// Symmetric by construction. Arrays that somebody else owns, [n] each, all in memory of the host or of one GPU.
struct GridMatrix {
  Extents cells = {};                // x fastest
  const double* diagonal = nullptr;  // entry (i, i)
  const double* ahead[3] = {};       // entry of cell i and the next one in x, y and z; of the last cell nobody reads it, and in
                                     // a direction of one cell the array may be null
  bool periodic[3] = {};             // then it is that of the last cell and the first one, of three cells at least

  i64 n() const { return cells[0] * cells[1] * cells[2]; }
  bool is_given() const { return diagonal != nullptr; }
  /// Entries of rows [first, first + rows), which are whole layers of cells: in the box, and across its ends.
  i64 entries(i64 first, i64 rows) const;
};

/// By rows, with an entry for each face between cells, whatever its value. Arrays are the host's. On several threads.
LargeCsr rows_of(const GridMatrix& A);

/// The values of such rows alone, [entries of all rows].
void values_of(const GridMatrix& A, double* to);

/// Of no periodic one; increasing.
std::vector<i64> offsets_of(const Extents& cells);

}  // namespace sordino
