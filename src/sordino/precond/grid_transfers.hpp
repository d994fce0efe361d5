// Row functors between two levels of a grid (grid_levels.hpp), whose ranks own whole aggregates of the finer one. Where others
// own the coarser one, its rows go there and come back (linalg/row_move.hpp).
#pragma once
#include "sordino/linalg/row_move.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/handles.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// A rank's rows of both levels, as numbers of cells within its layers.
struct TransferShape {
  i32 fine[3], coarse[3];  // cells in each direction of the rank's layers
  i32 step[3];             // fine cells of an aggregate, 1 or 2

  SORDINO_HD i32 fine_row(i32 x, i32 y, i32 z) const { return x + fine[0] * (y + fine[1] * z); }
  SORDINO_HD i32 coarse_row(i32 i) const {
    const i32 x = i % fine[0], y = i / fine[0] % fine[1], z = i / (fine[0] * fine[1]);
    return x / step[0] + coarse[0] * (y / step[1] + coarse[1] * (z / step[2]));
  }
};

/// Over rows of the coarse level: b_c = P^T (b - A x), of at most eight cells an aggregate.
struct RestrictResidual {
  static constexpr const char* name = "Restrict";
  TransferShape shape;
  Foreign<const double, Access::read> b, Ax, takes_part;
  Out to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(b);
    visit(Ax);
    visit(takes_part);
    visit(to);
  }
  SORDINO_HD void row(i32 i) {
    const i32 x0 = i % shape.coarse[0] * shape.step[0], y0 = i / shape.coarse[0] % shape.coarse[1] * shape.step[1],
              z0 = i / (shape.coarse[0] * shape.coarse[1]) * shape.step[2];
    double sum = 0;
    for (i32 z = z0; z < z0 + shape.step[2] && z < shape.fine[2]; z++)
      for (i32 y = y0; y < y0 + shape.step[1] && y < shape.fine[1]; y++)
        for (i32 x = x0; x < x0 + shape.step[0] && x < shape.fine[0]; x++) {
          const i32 at = shape.fine_row(x, y, z);
          sum += takes_part[at] * (b[at] - Ax[at]);
        }
    to[i] = sum;
  }
  Cost cost() const {
    const double rows = double(shape.fine[0]) * shape.fine[1] * shape.fine[2];
    return {24 * rows, 3 * rows};
  }
};

/// Over rows of the fine level: to = x + P e. A vector of its own, for a neighbour may still read the ghosts of x.
/// How it reads e: as its own rows, or also as ghosts.
template <Access how>
struct AddCorrection {
  static constexpr const char* name = "Prolong";
  TransferShape shape;
  MovedPlace place;  // of e's rows
  Foreign<const double, how> e;
  In takes_part, x;
  Out to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(e);
    visit(takes_part);
    visit(x);
    visit(to);
  }
  SORDINO_HD void row(i32 i) { to[i] = x[i] + takes_part[i] * e[place(shape.coarse_row(i))]; }
  Cost cost() const {
    return {8.0 * shape.coarse[0] * shape.coarse[1] * shape.coarse[2], 2.0 * shape.fine[0] * shape.fine[1] * shape.fine[2]};
  }
};

namespace multigrid {

struct Residual {  // r = b - A x
  In b, Ax;
  Out r;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { r[i] = b[i] - Ax[i]; }
};

struct Add {  // to = x + y
  In x, y;
  Out to;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { to[i] = x[i] + y[i]; }
};

using Kernels = KernelList<Kernel<RestrictResidual>, Kernel<AddCorrection<Access::read>>, Kernel<AddCorrection<Access::ghost>>,
                           Kernel<MoveRows>, Kernel<Residual>, Kernel<Add>>;

}  // namespace multigrid
}  // namespace sordino
