// Row functor of a matrix that has few different rows, as constant coefficients give (storage=constant).
#pragma once
#include <cstdint>
#include <cstring>

#include "sordino/linalg/dia_rows.hpp"

namespace sordino {

/// The entries of each kind of row once, and a byte a row that names its kind: entry (row, d) is values[kind * count + d.at].
/// 17 B a row of a 7-point product with x and y. The table, of at most 256 rows, stays in the first caches, and is not counted.
struct SharedEntries {
  const double* values;       // [most_row_kinds][count]
  const std::uint8_t* kinds;  // of each row of the slice
  i64 rows;
  static constexpr bool of_kinds = true;

  SORDINO_HD u32 place(u32 row, i32 count) const { return u32(read_once(kinds + row)) * u32(count); }
  SORDINO_HD double load(u32 at) const { return values[at]; }

  /// Of a row of that kind.
  struct Row {
    const double* values;
    SORDINO_HD double of_pair(u32 at) const { return values[at]; }
    SORDINO_HD double alone(u32 at) const { return values[at]; }
  };
  SORDINO_HD Row of_row(u32 row, i32 count) const { return {values + place(row, count)}; }
  /// As OwnEntries, but four rows after the other, and as many fours at once as are of one kind: they have the same entries.
  template <class Diagonal>
  void products(const Diagonal* diagonals, i32 count, u32 row, const double* x, double* y, i32 rows_here) const {
    const std::uint8_t* kind = kinds + row;
    for (i32 i = 0, end; i < rows_here; i = end) {
      end = end_of_fours(kind, i, rows_here);
      if (end > i) {
        const double* entries = values + place(row + u32(i), count);
        for (i32 d = 0; d < count; d += step)
          add(entries, diagonals + d, std::min(count - d, step), d == 0, x + i, y + i, end - i);
      } else {
        end = std::min(i + 4, rows_here);
        for (i32 j = i; j < end; j++) y[j] = one(values + place(row + u32(j), count), diagonals, count, x + j);
      }
    }
  }
  double bytes() const { return double(rows); }

 private:
  static constexpr i32 step = 8;  // diagonals at once

  /// How far rows i, i + 1, ... are of one kind, in fours.
  static i32 end_of_fours(const std::uint8_t* kind, i32 i, i32 end) {
    const u32 alike = kind[i] * 0x01010101u;
    for (u32 four; i + 4 <= end; i += 4) {
      std::memcpy(&four, kind + i, 4);
      if (four != alike) break;
    }
    return i;
  }
  template <class Diagonal>
  static double one(const double* entries, const Diagonal* diagonals, i32 count, const double* x) {
    double s = 0;
    for (i32 d = 0; d < count; d++) s += entries[diagonals[d].at] * x[diagonals[d].offset];
    return s;
  }
  /// A missing diagonal of a step adds 0 times the row's own x, which changes no bit.
  template <class Diagonal>
  static void add(const double* entries, const Diagonal* diagonals, i32 count, bool fresh, const double* x,
                  double* __restrict y, i32 rows) {
    double a[step];
    const double* of[step];
    for (i32 j = 0; j < step; j++) {
      a[j] = j < count ? entries[diagonals[j].at] : 0;
      of[j] = j < count ? x + diagonals[j].offset : x;
    }
    for (i32 i = 0; i < rows; i++) {
      double s = fresh ? 0 : y[i];
      for (i32 j = 0; j < step; j++) s += a[j] * of[j][i];
      y[i] = s;
    }
  }
};

using ConstantRows = DiaRowsOf<SharedEntries>;

}  // namespace sordino
