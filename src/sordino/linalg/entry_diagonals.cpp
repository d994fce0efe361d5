#include "sordino/linalg/entry_diagonals.hpp"

#include "sordino/base/parallel.hpp"

namespace sordino {

void find_entry_diagonals(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals, std::uint8_t* on) {
  const std::vector<i64>& offsets = diagonals.offsets;
  for_parts(slice.first_row, slice.first_row + slice.rows, [&](i64 first, i64 last) {
    for (i64 row = first; row < last; row++) {
      std::size_t d = 0;  // rows that are alike have an entry on one diagonal after the other
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++, d++) {
        const i64 offset = offset_of(diagonals.cells, row, A.indices[k]);
        if (d >= offsets.size() || offsets[d] != offset) d = diagonals.of(row, A.indices[k]);
        on[k - slice.first_entry] = std::uint8_t(d);
      }
    }
  });
}

}  // namespace sordino
