// Row functor of a stencil of 7 or 27 points stored by diagonals.
#pragma once
#include <variant>

#include "sordino/linalg/constant_rows.hpp"

namespace sordino {

/// A row as DiaRowsOf has it, with the same bits, in half the instructions: the number of diagonals is known when this is
/// compiled, their places come with the kernel's parameters, and a row whose columns are all the slice's own compares none. So
/// all loads are under way at once, but for entries of a row's kind, which wait for the byte that names it.
template <int points, class Entries = OwnEntries>
struct StencilRows : DiaRowsOf<Entries> {
  using Rows = DiaRowsOf<Entries>;
  static constexpr int middle = points / 2;  // the main diagonal
  i32 low, high;                             // rows all of whose columns are own
  bool unit;                                 // the main diagonal is 1, and not kept
  u32 at[points];
  i32 offset[points];

  template <class Others>  // from which Entries are made
  static StencilRows of(const DiaRowsOf<Others>& rows, const StoredDiagonal* diagonals) {
    StencilRows r{};
    static_cast<Rows&>(r) = {
        Entries{rows.entries}, rows.diagonals, rows.count, rows.own, rows.last, rows.first, rows.nnz, rows.x, rows.y};
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

/// Whether a diagonal that is not kept, since its entries are 1, is the one in the middle, as StencilRows takes it to be: that
/// of a matrix whose pattern is not symmetric may be another.
inline bool unit_in_the_middle(const StoredDiagonal* diagonals, i32 count) {
  for (i32 d = 0; d < count; d++)
    if (diagonals[d].is_unit() && d != count / 2) return false;
  return true;
}

/// What serves these rows best. 27 entries that are each read once leave a thread's registers no room to ask for all at once.
inline std::variant<DiaRows, StencilRows<7>, StencilRows<27>, StencilRows<7, OnceEntries>> by_points(
    const DiaRows& rows, const StoredDiagonal* diagonals) {
  const bool symmetric = rows.entries.twice;
  if (!unit_in_the_middle(diagonals, rows.count)) return rows;
  if (rows.count == 7 && !symmetric) return StencilRows<7, OnceEntries>::of(rows, diagonals);
  if (rows.count == 7) return StencilRows<7>::of(rows, diagonals);
  if (rows.count == 27 && symmetric) return StencilRows<27>::of(rows, diagonals);
  return rows;
}
inline std::variant<ConstantRows, StencilRows<7, SharedEntries>, StencilRows<27, SharedEntries>> by_points(
    const ConstantRows& rows, const StoredDiagonal* diagonals) {
  if (rows.count == 7) return StencilRows<7, SharedEntries>::of(rows, diagonals);
  if (rows.count == 27) return StencilRows<27, SharedEntries>::of(rows, diagonals);
  return rows;
}

}  // namespace sordino
