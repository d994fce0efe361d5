// Row functors between two levels of a grid (grid_levels.hpp), whose ranks own whole aggregates: no row of another rank is
// read.
#pragma once
#include "sordino/base/singles.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/columns.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// A rank's rows of both levels, as numbers of cells within its layers.
struct TransferShape {
  i32 fine[3], coarse[3];  // cells in each direction of the rank's layers
  i32 step[3];             // fine cells of an aggregate, 1 or 2

  SORDINO_HD i32 fine_rows() const { return fine[0] * fine[1] * fine[2]; }
  SORDINO_HD i32 coarse_rows() const { return coarse[0] * coarse[1] * coarse[2]; }
  SORDINO_HD i32 fine_row(i32 x, i32 y, i32 z) const { return x + fine[0] * (y + fine[1] * z); }
  SORDINO_HD i32 coarse_row(i32 i) const {
    const i32 x = i % fine[0], y = i / fine[0] % fine[1], z = i / (fine[0] * fine[1]);
    return x / step[0] + coarse[0] * (y / step[1] + coarse[1] * (z / step[2]));
  }
};

/// The numbers in the words of a vector, by rows, wherever they lie.
template <class V>
using ForeignRows = Foreign<const NumberIn<V>, Access::read>;

/// Over words of the coarse level: b_c = P^T (b - A x), of at most eight cells an aggregate. Vectors of either level: of V.
template <class Fine = double, class Coarse = double>
struct RestrictResidual {
  static constexpr const char* name = "Restrict";
  TransferShape shape;
  ForeignRows<Fine> b, Ax, takes_part;
  OutOf<Coarse> to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(Ax);
    visit(takes_part);
    visit(to);
  }
  SORDINO_HD void row(i32 word) {
    to[word] = word_of<Coarse>(word, shape.coarse_rows(), [&](i32 i) { return sum(i); });
  }
  Cost cost() const {
    const double rows = shape.fine_rows();
    return {3 * sizeof(NumberIn<Fine>) * rows, 3 * rows};
  }

 private:
  SORDINO_HD NumberIn<Fine> sum(i32 i) const {
    const i32 x0 = i % shape.coarse[0] * shape.step[0], y0 = i / shape.coarse[0] % shape.coarse[1] * shape.step[1],
              z0 = i / (shape.coarse[0] * shape.coarse[1]) * shape.step[2];
    NumberIn<Fine> sum = 0;
    for (i32 z = z0; z < z0 + shape.step[2] && z < shape.fine[2]; z++)
      for (i32 y = y0; y < y0 + shape.step[1] && y < shape.fine[1]; y++)
        for (i32 x = x0; x < x0 + shape.step[0] && x < shape.fine[0]; x++) {
          const i32 at = shape.fine_row(x, y, z);
          sum += takes_part[at] * (b[at] - Ax[at]);
        }
    return sum;
  }
};

/// Over words of the fine level: to = x + P e. A vector of its own, for a neighbour may still read the ghosts of x.
template <class Fine = double, class Coarse = double>
struct AddCorrection {
  static constexpr const char* name = "Prolong";
  TransferShape shape;
  ForeignRows<Coarse> e;
  InOf<Fine> takes_part, x;
  OutOf<Fine> to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(e);
    visit(takes_part);
    visit(x);
    visit(to);
  }
  SORDINO_HD void row(i32 word) {
    const auto correction =
        word_of<Fine>(word, shape.fine_rows(), [&](i32 i) { return NumberIn<Fine>(e[shape.coarse_row(i)]); });
    to[word] = x[word] + takes_part[word] * correction;
  }
  Cost cost() const { return {double(sizeof(NumberIn<Coarse>)) * shape.coarse_rows(), 2.0 * shape.fine_rows()}; }
};

namespace multigrid {

template <class V = double>
struct Residual {  // r = b - A x
  InOf<V> b, Ax;
  OutOf<V> r;
  static constexpr double flops = numbers_in<V>;
  SORDINO_HD void row(i32 i) { r[i] = b[i] - Ax[i]; }
};

template <class V = double>
struct Add {  // to = x + y
  InOf<V> x, y;
  OutOf<V> to;
  static constexpr double flops = numbers_in<V>;
  SORDINO_HD void row(i32 i) { to[i] = x[i] + y[i]; }
};

struct Narrow {  // to = c r, in single precision
  Get c;
  i32 rows;
  ForeignRows<double> r;
  OutOf<Singles> to;
  static constexpr double flops = 2;
  SORDINO_HD void row(i32 word) {
    to[word] = word_of<Singles>(word, rows, [&](i32 i) { return c * r[i]; });
  }
  Cost cost() const { return {8.0 * rows, 0}; }
};

struct Widen {  // z = c x, in double precision
  Get c;
  i32 rows;
  ForeignRows<Singles> x;
  Out z;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { z[i] = c * double(x[i]); }
  Cost cost() const { return {4.0 * rows, 0}; }
};

template <class Fine, class Coarse>
using TransferKernels = KernelList<Kernel<RestrictResidual<Fine, Coarse>>, Kernel<AddCorrection<Fine, Coarse>>>;
using Kernels =
    decltype(joined(TransferKernels<double, double>{}, TransferKernels<Singles, Singles>{}, TransferKernels<Singles, double>{},
                    KernelList<Kernel<Residual<double>>, Kernel<Residual<Singles>>, Kernel<Add<double>>, Kernel<Add<Singles>>,
                               Kernel<Narrow>, Kernel<Widen>>{}));

}  // namespace multigrid
}  // namespace sordino
