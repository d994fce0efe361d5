#include "sordino/linalg/entry_diagonals.hpp"

#include <algorithm>
#include <numeric>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/alike_rows.hpp"

namespace sordino {

void find_entry_diagonals(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals, std::uint8_t* on) {
  const std::vector<i64>& offsets = diagonals.offsets;
  const std::vector<i32> all = diagonals.cells ? std::vector<i32>{} : in_32_bits(offsets);
  std::vector<std::uint8_t> numbers(offsets.size());
  std::iota(numbers.begin(), numbers.end(), std::uint8_t(0));
  for_parts(slice.first_row, slice.first_row + slice.rows, [&](i64 first, i64 last) {
    for (i64 row = first; row < last; row++) {
      if (!diagonals.cells && is_alike(A, row, all)) {
        std::copy(numbers.begin(), numbers.end(), on + A.begin(row) - slice.first_entry);
        continue;
      }
      std::size_t d = 0;  // rows that are nearly alike have an entry on one diagonal after the other
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++, d++) {
        const i64 offset = offset_of(diagonals.cells, row, A.indices[k]);
        if (d >= offsets.size() || offsets[d] != offset) d = diagonals.of(row, A.indices[k]);
        on[k - slice.first_entry] = std::uint8_t(d);
      }
    }
  });
}

}  // namespace sordino
