// Which diagonal each entry of a rank's slice is on.
#pragma once
#include "sordino/linalg/csr_operator.hpp"

namespace sordino {

/// Writes the number of each entry's diagonal, [entries of the slice]. Cost: one pass over the columns, on several threads.
void find_entry_diagonals(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals, std::uint8_t* on);

}  // namespace sordino
