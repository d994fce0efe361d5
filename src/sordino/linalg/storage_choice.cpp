#include "sordino/linalg/storage_choice.hpp"

#include <algorithm>
#include <cstdio>

namespace sordino {
namespace {

constexpr i64 place_bytes = 8, entry_bytes = 12;  // by diagonals, and by rows: a value with its column

std::string megabytes(i64 bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g MB", double(bytes) / 1e6);
  return text;
}

StorageChoice by_rows(std::string why) { return {"csr", std::move(why)}; }

bool come_in_pairs(const std::vector<i64>& offsets) {
  return std::equal(offsets.begin(), offsets.end(), offsets.rbegin(), [](i64 a, i64 b) { return a == -b; });
}

/// Of real entries, whose diagonals are known to be few.
StorageChoice automatic(const CsrView& A, FoundDiagonals found, i64 rows, bool unit, const i64* cells, bool mirrored) {
  for (std::size_t d = 0; d < found.offsets.size(); d++)
    if (entry_bytes * found.entries[d] < place_bytes * A.n)
      return by_rows("the diagonal of column - row = " + std::to_string(found.offsets[d]) + " has " +
                     std::to_string(found.entries[d]) + " entries in " + std::to_string(A.n) +
                     " rows, and saves bytes from two thirds of them on");
  Diagonals diagonals{std::move(found.offsets)};
  diagonals.unit = unit && diagonals.offsets.size() > 1;
  diagonals.cells = cells;
  i64 bytes = place_bytes * DiagonalPlaces(diagonals, rows).stored;
  std::string told =
      "its " + std::to_string(diagonals.offsets.size()) + " diagonals take " + megabytes(bytes) + " of each rank";
  if (bytes <= most_cached) return {"dia", told + ", no more than caches of GPUs hold", std::move(diagonals)};
  if (!come_in_pairs(diagonals.offsets) || !(mirrored || has_equal_mirrors(A)))
    return {"dia", told + ", and it is not symmetric bit by bit", std::move(diagonals)};
  diagonals.symmetric = true;
  return {"symdia", told + ", more than caches of GPUs hold, and it is symmetric", std::move(diagonals)};
}

}  // namespace

StorageChoice choose_storage(const CsrView& A, const std::string& asked, i64 rows, bool unit, const i64* cells, bool mirrored) {
  if (asked != "auto") {
    StorageChoice choice{asked, "asked for", diagonals_of(A, asked, cells)};
    choice.diagonals.unit = unit && choice.diagonals.offsets.size() > 1;
    return choice;
  }
  if (A.is_complex()) return by_rows("its entries are complex");
  FoundDiagonals found = find_diagonals(A, cells);
  if (found.offsets.empty()) return by_rows("it has more than " + std::to_string(most_diagonals) + " diagonals");
  return automatic(A, std::move(found), rows, unit, cells, mirrored);
}

StorageChoice choose_storage(const GridMatrix& A, const std::string& asked, i64 rows) {
  FoundDiagonals found{.offsets = offsets_of(A.cells), .entries = {}};
  if (asked != "auto") return {asked, "asked for", {.offsets = found.offsets, .symmetric = asked == "symdia"}};
  found.entries.assign(found.offsets.size(), A.n());
  return automatic({.n = A.n()}, std::move(found), rows, false, nullptr, true);
}

}  // namespace sordino
