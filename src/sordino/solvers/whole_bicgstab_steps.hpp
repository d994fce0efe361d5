// Commands of BiCGStab on whole vectors that a group's ranks share (whole_bicgstab.hpp), beside those of bicgstab.hpp.
#pragma once
#include "sordino/runtime/one_thread.hpp"
#include "sordino/solvers/bicgstab.hpp"

namespace sordino::whole_vectors {

using bicgstab::ratio;

/// Blocks and tiles of a replicated space, by which its sums are taken, where commands read them.
struct Blocks {
  const i32 *tiles, *rows;  // [blocks + 1] first tile of each; [tiles + 1] first row of each
};

constexpr int places = 2;  // for values of a block, whether one is taken or two

/// Sums of own blocks, in the order of sum_order.hpp: (a,b), and of two values (a,a). Row 2 k + j is value j of block k. On a
/// GPU a thread block computes it, whatever the engine's order: its warps take a tile each, and all are added in that order.
struct PartDots {
  static constexpr const char* name = "Part dots";
  static constexpr bool by_blocks = true, sends_rows = true;
  Blocks blocks;
  i32 values;
  i64 own_rows;
  Foreign<const double, Access::read> a, b;
  Out parts;

  void row(i32 i) const {
    const RowRange tiles = tiles_of(i);
    double sum = 0;
    for (i32 tile = tiles.begin; tile < tiles.end; tile++) {
      double running[running_sums] = {};
      const i32 count = add(tile, i, 0, running);
      sum += fold(running, count);
    }
    parts[i] = sum;
  }
  template <class Threads>
  SORDINO_HD void row(i32 i, const Threads& threads) const {
    const RowRange tiles = tiles_of(i);
    double sum = 0;
    for (i32 first = tiles.begin; first < tiles.end; first += Threads::warps) {
      double running[running_sums / Threads::lanes] = {};
      if (first + threads.warp < tiles.end) add(first + threads.warp, i, threads.lane, running);
      threads.add_in_order(running[0], sum);
    }
    if (threads.warp == 0 && threads.lane == 0) parts[i] = sum;
  }
  Cost cost() const { return {16.0 * double(own_rows), 2.0 * values * double(own_rows)}; }

 private:
  SORDINO_HD RowRange tiles_of(i32 i) const {
    const i32 block = i / places, first = blocks.tiles[block];
    return {first, i % places < values ? blocks.tiles[block + 1] : first};
  }
  /// Adds the products of a tile's rows to running sums: of all rows to all 32, or of those that one of them gets, from row
  /// `lane` on, to that one. Returns how many rows the tile has.
  template <int n>
  SORDINO_HD i32 add(i32 tile, i32 i, i32 lane, double (&running)[n]) const {
    constexpr i32 step = running_sums / n;
    const double *with = i % places == 0 ? b.p : a.p, *of = a.p;
    const i32 first = blocks.rows[tile], count = blocks.rows[tile + 1] - first;
    for (i32 k = lane; k < count; k += step) running[k / step % n] += with[first + k] * of[first + k];
    return count;
  }
};

/// The sums of all blocks of a group's ranks: a row is a block, and all rows are one tile, whose sum is that of the blocks in
/// their order.
template <int values>
struct AddParts {
  static constexpr const char* name = "Add parts";
  i32 blocks;
  Foreign<const double, Access::ghost> parts;

  SORDINO_HD Sums<values> row(i32 block) const {
    Sums<values> out;
    for (int j = 0; j < values; j++) out.v[j] = parts[places * block + j];
    return out;
  }
  Cost cost() const { return {8.0 * values * blocks, double(values) * blocks}; }
};

/// zeta = (t,s) / (t,t);  r = s - zeta t, without the update of x
struct StepR {
  Get ts, tt;
  Put zeta;
  In s, t;
  Out r;
  double omega = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() {
    omega = ratio(ts, tt);
    zeta = omega;
  }
  SORDINO_HD void row(i32 i) { r[i] = s[i] - omega * t[i]; }
};

/// x += alpha p + zeta s, of the rank's share
struct PartX {
  static constexpr const char* name = "Part of x";
  Get rho, rv, zeta;
  In ph, sh;
  InOut x;
  double alpha = 0;
  static constexpr double flops = 4;
  SORDINO_HD void head() { alpha = ratio(rho, rv); }
  SORDINO_HD void row(i32 i) { x[i] += alpha * ph[i] + zeta * sh[i]; }
};

struct Copy {
  Whole from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};

using Kernels =
    KernelList<Kernel<PartDots>, Kernel<AddParts<1>>, Kernel<AddParts<2>>, Kernel<StepR>, Kernel<PartX>, Kernel<Copy>>;

}  // namespace sordino::whole_vectors
