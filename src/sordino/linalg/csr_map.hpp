// A sparse matrix that maps vectors of one distributed space to those of another: interpolation and restriction of multigrid.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/csr_operator.hpp"

namespace sordino {

/// A rectangular matrix in CSR that somebody else owns, or consecutive rows of it. Columns of a row in increasing order; rows
/// may be empty.
struct MapView {
  i64 rows = 0, columns = 0;       // of the matrix
  const i64* indptr = nullptr;     // [rows + 1], or of the rows that are held
  const i32* indices = nullptr;    // [nnz] counted from first_column
  const double* values = nullptr;  // [nnz]

  i64 first_row = 0;     // of those held
  i64 first_column = 0;  // may be negative

  i64 begin(i64 row) const { return indptr[row - first_row]; }  // as of a CsrView

  i64 nnz() const { return indptr[rows]; }  // where all rows are held
};

/// Owned arrays of the same shape.
struct MapMatrix {
  i64 rows = 0, columns = 0;
  std::vector<i64> indptr = {};
  std::vector<i32> indices = {};
  std::vector<double> values = {};

  MapView view() const { return {rows, columns, indptr.data(), indices.data(), values.data()}; }
};

/// Throws bad_argument with one sentence, which begins with `what`, if the arrays are not a usable matrix: indices out of range
/// or not increasing, NaN or Inf.
void validate(const MapView& A, const std::string& what);
MapMatrix transposed(const MapView& A);

class CsrMap {
 public:
  /// Collective. `A` holds this rank's rows at least. Rows are dealt out as those of `row_space`, which has that partition,
  /// and what it is applied to as those of `column_space`. Values are viewed on the host, as in CsrOperator. Synchronizes all
  /// ranks once.
  CsrMap(Rank& rank, const MapView& A, const Partition& rows, int row_space, const Partition& columns, int column_space);
  ~CsrMap();

  /// A vector that the map can be applied to: it has room for what other ranks send.
  Vec operand(Rank& rank, const char* name) const { return rank.vector(name, column_space_, &exchange_); }
  /// Records y = A x on this rank, or y = plus + A x; rows that need what other ranks send come behind the others. x has been
  /// pushed.
  void apply(Rank& rank, Vec x, Vec y, Vec plus = {}) const;
  /// As CsrOperator's, of a rank; and how many rows of others it reads.
  i64 bytes() const;
  static i64 bytes_of(const MapView& A, const Partition& rows, int rank, bool device);
  static i64 ghosts_of(const MapView& A, const Partition& rows, const Partition& columns, int rank);

 private:
  int column_space_;
  Exchange exchange_;
  Split split_;
  std::unique_ptr<CsrOperator::Layout> layout_;
};

}  // namespace sordino
