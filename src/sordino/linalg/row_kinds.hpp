// The different rows of a matrix with few diagonals: constant coefficients give few of them, whatever the boundaries.
#pragma once
#include <cstdint>

#include "sordino/linalg/diagonals.hpp"

namespace sordino {

constexpr int most_row_kinds = 256;  // that a byte tells apart

/// What is found, where it is wanted: the kind of each row, and each kind's entries by diagonals, 0 where there is none.
struct RowKinds {
  std::uint8_t* of_rows = nullptr;  // [end - first]
  double* entries = nullptr;        // [most_row_kinds][diagonals]
};

/// How many different rows there are, bit by bit, in [first, end) of A, whose entries lie on these diagonals; beyond
/// most_row_kinds: one more. Their numbers may be others in each run. Cost: one pass over the entries, on several threads,
/// which ends early where there are too many.
int find_row_kinds(const CsrView& A, const Diagonals& diagonals, i64 first, i64 end, const RowKinds& into = {});

}  // namespace sordino
