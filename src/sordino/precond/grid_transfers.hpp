// Row functors between two levels of a grid (grid_levels.hpp). P of a cell reads its own aggregate and, in each direction of
// pairs, the one on the side on which the cell lies in its own: at a rank's ends, of the layer behind. Where others than those
// whose aggregates they are own the coarser level's rows, these go there and come back (linalg/row_move.hpp).
#pragma once
#include <algorithm>

#include "sordino/base/singles.hpp"
#include "sordino/linalg/row_move.hpp"
#include "sordino/precond/cell_weights.hpp"
#include "sordino/precond/layer_shape.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/columns.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// Both levels, and which directions are of pairs: 1, else 0, as shifts.
struct TransferShape {
  LayerShape fine, coarse;
  i32 pairs[3];
};

/// The numbers in the words of a vector, by rows, wherever they lie.
template <class V, Access how = Access::read>
using ForeignRows = Foreign<const NumberIn<V>, how>;

/// Over words of the coarse level: b_c = P^T r, of at most eight cells an aggregate, and their neighbours. Vectors of either
/// level: of V, which is double, or Singles.
template <class Fine = double, class Coarse = double>
struct RestrictResidual {
  static constexpr const char* name = "Restrict";
  static constexpr int resident_blocks = 4;  // of GPUs: registers for what two cells load
  TransferShape shape;
  ForeignRows<Fine, Access::ghost> r;
  Foreign<const CellWeights, Access::read> weights;  // a word a row
  OutOf<Coarse> to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(r);
    visit(weights);
    visit(to);
  }
  SORDINO_HD void row(i32 word) {
    const LayerShape& coarse = shape.coarse;
    const i32 rows = coarse.cells[0] * coarse.cells[1] * coarse.cells[2];
    to[word] = word_of<Coarse>(word, rows, [&](i32 i) { return of_aggregate(i); });
  }
  /// On a CPU line by line of aggregates, as AddCorrection.
  void block(i32 begin, i32 end)
    requires(numbers_in<Coarse> == 1)
  {
    for (i32 i = begin; i < end;) i = add_line(i, end);
  }
  void done(i32) {}
  Cost cost() const {
    const double rows = double(shape.fine.cells[0]) * shape.fine.cells[1] * shape.fine.cells[2];
    return {(sizeof(CellWeights) + sizeof(Number)) * rows, 8 * rows};
  }

 private:
  using Number = NumberIn<Fine>;

  /// A cell of an aggregate, and what lies behind it in each direction; zeros where there is none.
  struct Taken {
    CellWeights weights{};
    Number own = 0, behind[3]{};

    /// What the aggregate takes, in 2^15.
    SORDINO_HD Number sum() const {
      Number sum = Number(weights.own) * own;
      for (int d = 0; d < 3; d++) sum += Number(weights.across[d]) * behind[d];
      return sum;
    }
  };
  SORDINO_HD Taken cell(i32 x, i32 y, i32 z) const {
    const LayerShape& fine = shape.fine;
    const i32 i = x + fine.stride[1] * y + fine.stride[2] * z;
    Taken taken{weights[i], r[i]};
    if (shape.pairs[0]) taken.behind[0] = r[fine.neighbour(i, x, 0, x & 1)];
    if (shape.pairs[1]) taken.behind[1] = r[fine.neighbour(i, y, 1, y & 1)];
    if (shape.pairs[2]) taken.behind[2] = r[fine.neighbour(i, z, 2, z & 1)];
    return taken;
  }
  /// Both cells of a line are loaded before one is added: there are few aggregates, and each waits for memory half as often.
  SORDINO_HD Number of_aggregate(i32 i) const {
    const LayerShape &fine = shape.fine, &coarse = shape.coarse;
    const i32 z = i / coarse.stride[2], y = (i - z * coarse.stride[2]) / coarse.stride[1],
              x = i - z * coarse.stride[2] - y * coarse.stride[1];
    const i32 begin[3] = {x << shape.pairs[0], y << shape.pairs[1], z << shape.pairs[2]};
    const bool has_two = shape.pairs[0] != 0 && begin[0] + 1 < fine.cells[0];
    Number sum = 0;
    for (i32 layer = begin[2]; layer <= begin[2] + shape.pairs[2] && layer < fine.cells[2]; layer++)
      for (i32 line = begin[1]; line <= begin[1] + shape.pairs[1] && line < fine.cells[1]; line++) {
        const Taken first = cell(begin[0], line, layer), second = has_two ? cell(begin[0] + 1, line, layer) : Taken{};
        sum += first.sum();
        sum += second.sum();
      }
    return sum * Number(1.0 / CellWeights::one);
  }

  /// A line of the fine level: its first cell, and how far behind all its cells others lie in y and z.
  struct Line {
    i32 begin, beside[2];
  };
  Line line_at(i32 y, i32 z) const {
    const LayerShape& fine = shape.fine;
    const i32 begin = y * fine.stride[1] + z * fine.stride[2];
    return {begin, {fine.neighbour(begin, y, 1, y & 1) - begin, fine.neighbour(begin, z, 2, z & 1) - begin}};
  }
  Taken cell_of(const Line& line, i32 x) const {
    const i32 i = line.begin + x;
    Taken taken{weights[i], r[i]};
    if (shape.pairs[0]) taken.behind[0] = r[shape.fine.neighbour(i, x, 0, x & 1)];
    if (shape.pairs[1]) taken.behind[1] = r[i + line.beside[0]];
    if (shape.pairs[2]) taken.behind[2] = r[i + line.beside[1]];
    return taken;
  }
  /// From aggregate i on, to the end of its line or to `end`, which is returned. The bits of of_aggregate().
  i32 add_line(i32 i, i32 end) {
    const LayerShape &fine = shape.fine, &coarse = shape.coarse;
    const i32 z = i / coarse.stride[2], y = (i - z * coarse.stride[2]) / coarse.stride[1];
    const i32 begin = y * coarse.stride[1] + z * coarse.stride[2], first_y = y << shape.pairs[1], first_z = z << shape.pairs[2];
    Line lines[4];
    int count = 0;
    for (i32 layer = first_z; layer <= first_z + shape.pairs[2] && layer < fine.cells[2]; layer++)
      for (i32 line = first_y; line <= first_y + shape.pairs[1] && line < fine.cells[1]; line++)
        lines[count++] = line_at(line, layer);
    end = std::min(end, begin + coarse.cells[0]);
    for (; i < end; i++) {
      const i32 x = (i - begin) << shape.pairs[0];
      const bool has_two = shape.pairs[0] != 0 && x + 1 < fine.cells[0];
      Number sum = 0;
      for (int k = 0; k < count; k++) {
        sum += cell_of(lines[k], x).sum();
        if (has_two) sum += cell_of(lines[k], x + 1).sum();
      }
      to[i] = sum * Number(1.0 / CellWeights::one);
    }
    return end;
  }
};

/// Over words of the fine level: to = x + P e. A vector of its own, for a neighbour may still read the ghosts of x.
template <class Fine = double, class Coarse = double>
struct AddCorrection {
  static constexpr const char* name = "Prolong";
  TransferShape shape;
  ForeignRows<Coarse, Access::ghost> e;
  Foreign<const CellWeights, Access::read> weights;  // a word a row
  InOf<Fine> x;
  OutOf<Fine> to;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(e);
    visit(weights);
    visit(x);
    visit(to);
  }
  SORDINO_HD void row(i32 word) {
    const LayerShape& fine = shape.fine;
    const i32 rows = fine.cells[0] * fine.cells[1] * fine.cells[2];
    to[word] = x[word] + word_of<Fine>(word, rows, [&](i32 i) { return correction(i); });
  }
  /// On a CPU line by line: nobody divides, and what lies behind in y and z is as far from all aggregates of a line.
  void block(i32 begin, i32 end)
    requires(numbers_in<Fine> == 1)
  {
    for (i32 i = begin; i < end;) i = add_to_line(i, end);
  }
  void done(i32) {}
  Cost cost() const {
    const LayerShape &fine = shape.fine, &coarse = shape.coarse;
    const double rows = double(fine.cells[0]) * fine.cells[1] * fine.cells[2];
    return {double(sizeof(NumberIn<Coarse>)) * coarse.cells[0] * coarse.cells[1] * coarse.cells[2] + sizeof(CellWeights) * rows,
            9 * rows};
  }

 private:
  using Number = NumberIn<Fine>;

  SORDINO_HD Number correction(i32 i) const {
    const LayerShape &fine = shape.fine, &coarse = shape.coarse;
    const i32 z = i / fine.stride[2], y = (i - z * fine.stride[2]) / fine.stride[1],
              at[3] = {i - z * fine.stride[2] - y * fine.stride[1], y, z};
    i32 place[3], row = 0;
    for (int d = 0; d < 3; d++) row += coarse.stride[d] * (place[d] = at[d] >> shape.pairs[d]);
    const CellWeights w = weights[i];
    Number sum = Number(w.own) * Number(e[row]);
    for (int d = 0; d < 3; d++)
      if (shape.pairs[d]) sum += Number(w.across[d]) * Number(e[coarse.neighbour(row, place[d], d, at[d] & 1)]);
    return sum * Number(1.0 / CellWeights::one);
  }
  /// From cell i on, to the end of its line or to `end`, which is returned. The bits of correction().
  i32 add_to_line(i32 i, i32 end) {
    const LayerShape &fine = shape.fine, &coarse = shape.coarse;
    const i32 z = i / fine.stride[2], y = (i - z * fine.stride[2]) / fine.stride[1];
    const i32 begin = y * fine.stride[1] + z * fine.stride[2], in_y = y >> shape.pairs[1], in_z = z >> shape.pairs[2];
    const i32 line = in_y * coarse.stride[1] + in_z * coarse.stride[2];
    const i32 beside_y = coarse.neighbour(line, in_y, 1, y & 1) - line,
              beside_z = coarse.neighbour(line, in_z, 2, z & 1) - line;
    end = std::min(end, begin + fine.cells[0]);
    for (; i < end; i++) {
      const i32 x_at = i - begin, place = x_at >> shape.pairs[0], row = line + place;
      const CellWeights w = weights[i];
      Number sum = Number(w.own) * Number(e[row]);
      if (shape.pairs[0]) sum += Number(w.across[0]) * Number(e[coarse.neighbour(row, place, 0, x_at & 1)]);
      if (shape.pairs[1]) sum += Number(w.across[1]) * Number(e[row + beside_y]);
      if (shape.pairs[2]) sum += Number(w.across[2]) * Number(e[row + beside_z]);
      to[i] = x[i] + sum * Number(1.0 / CellWeights::one);
    }
    return end;
  }
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
                    KernelList<Kernel<MoveRows>, Kernel<Residual<double>>, Kernel<Residual<Singles>>, Kernel<Add<double>>,
                               Kernel<Add<Singles>>, Kernel<Narrow>, Kernel<Widen>>{}));

}  // namespace multigrid
}  // namespace sordino
