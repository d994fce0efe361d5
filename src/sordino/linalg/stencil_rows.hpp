// Row functor of a symmetric stencil stored by diagonals, of 7 or 27 points.
#pragma once
#include <variant>

#include "sordino/linalg/dia_rows.hpp"

namespace sordino {

/// A row as DiaRows has it, with the same bits, in half the instructions: the number of diagonals is known when this is
/// compiled, their places come with the kernel's parameters, and a row whose columns are all the slice's own compares none. 24
/// B of values a row of 7 points, each read for two rows, leave a GPU no time for more.
template <int points>
struct StencilRows : DiaRows {
  static constexpr int middle = points / 2;  // the main diagonal
  i32 low, high;                             // rows all of whose columns are own
  bool unit;                                 // the main diagonal is 1, and not kept
  u32 at[points];
  i32 offset[points];

  static StencilRows of(const DiaRows& rows, const StoredDiagonal* diagonals) {
    StencilRows r{};
    static_cast<DiaRows&>(r) = rows;
    r.low = -diagonals[0].offset;
    r.high = i32(rows.own) - diagonals[points - 1].offset;
    r.unit = diagonals[middle].at == StoredDiagonal::unit;
    for (int d = 0; d < points; d++) {
      r.at[d] = diagonals[d].at;
      r.offset[d] = diagonals[d].offset;
    }
    return r;
  }

  template <class V>
  SORDINO_HD void each_entry(i32 i, int lane, int lane_count, V&& visit) const {
    if (i < low || i >= high) return DiaRows::each_entry(i, lane, lane_count, visit);
    const double* value = entries.values + (i - first);
    double a[points];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = 0; d < points; d++)
      if (d != middle)
        a[d] = value[at[d]];
      else
        a[d] = unit ? 1.0 : read_once(value + at[d]);  // the one that is not another row's, too
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int d = 0; d < points; d++) visit(a[d], i + offset[d]);
  }
  SORDINO_HD double sum(i32 i, int lane, int lane_count) const { return product(*this, x, i, lane, lane_count); }
};

/// What serves these rows best.
inline std::variant<DiaRows, StencilRows<7>, StencilRows<27>> by_points(const DiaRows& rows, const StoredDiagonal* diagonals) {
  const bool symmetric = rows.entries.twice;
  if (symmetric && rows.count == 7) return StencilRows<7>::of(rows, diagonals);
  if (symmetric && rows.count == 27) return StencilRows<27>::of(rows, diagonals);
  return rows;
}

}  // namespace sordino
