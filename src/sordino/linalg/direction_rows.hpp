// Row functor of conjugate gradients in two commands: the next direction is made of two vectors where the product reads it, so
// that no command of its own stands between a reduction and the product.
#pragma once
#include "sordino/linalg/csr_rows.hpp"
#include "sordino/linalg/dia_rows.hpp"

namespace sordino {

/// p_new = z + beta p with beta = (r,z) / (r,z)_old, and y = A p_new with (y, p_new). Rows is a layout of a real matrix. A row
/// makes what it needs of others' p_new itself, of z and p: two gathers instead of one, 16 B a row less than two commands
/// read and write, and 2 flops more an entry.
template <class Rows>
struct DirectionRows {
  static constexpr int lanes = Rows::lanes;
  static constexpr int resident_blocks = 3;
  static constexpr const char* name = "Direction, SpMV";
  Rows rows;  // its own x and y stay unset
  Get rz, rz_old;
  Ghost z, p;
  Out p_new, y;
  double beta = 0;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(rz);
    visit(rz_old);
    visit(z);
    visit(p);
    visit(p_new);
    visit(y);
  }
  SORDINO_HD void head() { beta = rz / rz_old; }
  SORDINO_HD double direction(i32 word) const { return z[word] + beta * p[word]; }
  SORDINO_HD Sums<1> part(i32 i, int lane, int lane_count) const {
    Sums<1> s{};
    rows.each_entry(i, lane, lane_count, [&](double a, i32 word) { s.v[0] += a * direction(word); });
    return s;
  }
  SORDINO_HD Sums<1> finish(i32 i, const Sums<1>& sum) {
    double pi = direction(i);
    p_new[i] = pi;
    y[i] = sum.v[0];
    return {{sum.v[0] * pi}};
  }
  SORDINO_HD Sums<1> row(i32 i) { return finish(i, part(i, 0, 1)); }
  Cost cost() const {
    Cost c = rows.cost();
    return {c.bytes, 2 * c.flops};
  }
};

}  // namespace sordino
