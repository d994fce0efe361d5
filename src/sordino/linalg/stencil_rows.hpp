// Row functor of a stencil of 7 or 27 points stored by diagonals, symmetric or of few different rows.
#pragma once
#include <variant>

#include "sordino/linalg/dia_rows.hpp"

namespace sordino {

/// A row as DiaRowsOf has it, with the same bits, in half the instructions: the number of diagonals is known when this is
/// compiled, their places come with the kernel's parameters, and a row whose columns are all the slice's own compares none. So
/// all loads are under way at once, but for entries of a row's kind, which wait for the byte that names it. 24 B of values a
/// row of 7 points, each read for two rows, or a byte leave a GPU no time for more.
template <int points, class Entries = OwnEntries>
struct StencilRows : DiaRowsOf<Entries> {
  using Rows = DiaRowsOf<Entries>;
  static constexpr int middle = points / 2;  // the main diagonal
  i32 low, high;                             // rows all of whose columns are own
  bool unit;                                 // the main diagonal is 1, and not kept
  u32 at[points];
  i32 offset[points];

  static StencilRows of(const Rows& rows, const StoredDiagonal* diagonals) {
    StencilRows r{};
    static_cast<Rows&>(r) = rows;
    r.low = -diagonals[0].offset;
    r.high = i32(rows.own) - diagonals[points - 1].offset;
    r.unit = diagonals[middle].is_unit();
    for (int d = 0; d < points; d++) {
      r.at[d] = diagonals[d].at;
      r.offset[d] = diagonals[d].offset;
    }
    return r;
  }

  template <class V>
  SORDINO_HD void each_entry(i32 i, int lane, int lane_count, V&& visit) const {
    if (i < low || i >= high) return Rows::each_entry(i, lane, lane_count, visit);
    const auto entry = this->entries.of_row(u32(i - this->first), points);
    double a[points];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = 0; d < points; d++)
      if (d != middle)
        a[d] = entry.of_pair(at[d]);
      else
        a[d] = unit ? 1.0 : entry.alone(at[d]);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = 0; d < points; d++) visit(a[d], i + offset[d]);
  }
  /// Of a row of a kind x comes before the entries, or a thread would wait for the byte with nothing else under way.
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const {
    if constexpr (Entries::of_kinds)
      if (i >= low && i < high) {
        const u32 place = this->entries.place(u32(i - this->first), points);
        double operand[points], s = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int d = points; d-- > 0;) operand[d] = this->x[i + offset[d]];  // the row ahead first: no cache has it
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
        for (int d = 0; d < points; d++) s += this->entries.load(at[d] + place) * operand[d];
        return s;
      }
    return product(*this, this->x, i, lane, lane_count);
  }
};

/// What serves these rows best.
template <class Entries>
std::variant<DiaRowsOf<Entries>, StencilRows<7, Entries>, StencilRows<27, Entries>> by_points(const DiaRowsOf<Entries>& rows,
                                                                                              const StoredDiagonal* diagonals) {
  const bool few_bytes = rows.entries.few_bytes();
  if (few_bytes && rows.count == 7) return StencilRows<7, Entries>::of(rows, diagonals);
  if (few_bytes && rows.count == 27) return StencilRows<27, Entries>::of(rows, diagonals);
  return rows;
}

}  // namespace sordino
