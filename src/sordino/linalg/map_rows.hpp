// Row functors of sparse matrices between two spaces.
#pragma once
#include "sordino/linalg/csr_rows.hpp"

namespace sordino {

/// y = A x, or y = plus + A x, where Rows is a layout of A's entries (csr_rows.hpp) and x lives on another space than y.
template <class Rows>
struct MapRows {
  static constexpr int lanes = Rows::lanes;
  static constexpr int resident_blocks = Rows::resident_blocks;
  static constexpr const char* name = "Transfer";
  Rows rows;  // its own x and y stay unset
  Foreign<const double, Access::ghost> x;
  In plus;
  Out y;
  i32 columns;  // of x that the rank holds, ghosts included

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(plus);
    visit(y);
  }
  SORDINO_HD Sums<1> part(i32 i, int lane, int lane_count) const {
    Sums<1> s{};
    rows.each_entry(i, lane, lane_count, [&](double a, i32 word) { s.v[0] += a * x[word]; });
    return s;
  }
  SORDINO_HD void finish(i32 i, const Sums<1>& sum) { y[i] = plus.p ? plus[i] + sum.v[0] : sum.v[0]; }
  SORDINO_HD void row(i32 i) { finish(i, part(i, 0, 1)); }
  Cost cost() const {
    const Cost c = rows.cost();
    return {c.bytes + 8.0 * columns, c.flops};
  }
};

using MapKernels = KernelList<Kernel<MapRows<SellRows>>, Kernel<MapRows<CsrRows<4>>>, Kernel<MapRows<CsrRows<32>>>>;

}  // namespace sordino
