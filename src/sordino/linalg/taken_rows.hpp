// The arrays of a caller's matrix, which anybody may have made: looked at, and copied, in one pass.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

/// Rows in CSR as somebody else has them, of 32 or 64 bits a number, and not known to be any.
template <class Start, class Column>
struct GivenRows {
  i64 rows = 0, columns = 0;
  const Start* indptr = nullptr;  // [rows + 1]
  const Column* indices = nullptr;
  const double* values = nullptr;  // [entries][words]
  i64 entries = 0;                 // of the arrays
  int words = 1;
};

/// Where the copies go; null: there is to be none.
struct TakenRows {
  i64* indptr = nullptr;     // [rows + 1]
  i32* indices = nullptr;    // [entries]
  double* values = nullptr;  // [entries][words]
};

/// Whether these are rows of a usable matrix: what validate() of csr.hpp wants of them, and as many entries as arrays have.
/// Then they have been copied; where they are not, part of them may have been. What is wrong, and where, is for others to say.
/// Start and Column: i32 or i64. There is a row at least, and below 2^31 columns. Cost: one pass over the arrays, on several
/// threads, which also touch the copies first.
template <class Start, class Column>
bool take_rows(const GivenRows<Start, Column>& given, const TakenRows& to);

}  // namespace sordino
