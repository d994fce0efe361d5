// The loop by which `bench comm --what loops` compares ways to run one: conjugate gradients for the 7-point Laplacian of a cube
// with cold walls, without a matrix, cut into slabs. Recorded here as three commands; comm/cuda/loops.cu has a kernel of its
// own for the same iteration. What both need to agree on is here, and knows no device.
//
//   q = A p, sum p'q | alpha = rho / p'q, r -= alpha q, sum rho' = r'r | x += alpha p, p = r + (rho' / rho) p, halo of p
//
// The floor of an iteration, in bytes a row: 16 + 24 + 40 = 80, neighbours of p from caches; and three points where all GPUs
// wait for each other: two sums and a halo.
#pragma once
#include <algorithm>
#include <cmath>

#include "sordino/comm/cuda/overlap_programs.hpp"

namespace sordino::loops {

/// A rank's planes of a cube of (1 << bits)^3 points. Ghosts lie behind its rows: the plane below, then the one above.
struct Slab {
  i32 bits = 0, plane = 0, rows = 0;
  i32 below = -1, above = -1;  // where a ghost plane begins; -1: the wall
  i64 first_row = 0;

  Slab() = default;
  /// `ranks` divides the side.
  SORDINO_HD constexpr Slab(int bits, int rank, int ranks)
      : bits(bits),
        plane(1 << 2 * bits),
        rows(plane * ((1 << bits) / ranks)),
        below(rank > 0 ? rows : -1),
        above(rank + 1 < ranks ? rows + (rank > 0 ? plane : 0) : -1),
        first_row(i64(rows) * rank) {}

  SORDINO_HD constexpr i32 ghosts() const { return plane * (int(below >= 0) + int(above >= 0)); }

  /// Row i of A x, where x[i] is `own`; x[k] is asked for neighbours only.
  template <class X>
  SORDINO_HD double times(i32 i, double own, const X& x) const {
    const i32 last = (1 << bits) - 1, line = 1 << bits, a = i & last, b = i >> bits & last;
    const i32 down = i >= plane ? i - plane : below >= 0 ? below + i : -1;
    const i32 up = i + plane < rows ? i + plane : above >= 0 ? above + i + plane - rows : -1;
    double west = a > 0 ? x[i - 1] : 0, east = a < last ? x[i + 1] : 0;
    double south = b > 0 ? x[i - line] : 0, north = b < last ? x[i + line] : 0;
    double lower = down >= 0 ? x[down] : 0, upper = up >= 0 ? x[up] : 0;
    return 6 * own - ((west + east) + (south + north) + (lower + upper));
  }
};

/// The right-hand side, whatever the number of ranks: between 1 and 2.
SORDINO_HD constexpr double charge(i64 row) { return 1 + double(u32(row) * 2654435761u >> 8) * 0x1p-24; }

// --- commands ----------------------------------------------------------------------------------------------------------------

struct Begin {
  Out x, r, p;
  i64 first_row;
  SORDINO_HD Sums<1> row(i32 i) {
    double b = charge(first_row + i);
    x[i] = 0;
    r[i] = b;
    p[i] = b;
    return {{b * b}};
  }
};

struct Product {
  Slab slab;
  Ghost p;
  Out q;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(p);
    visit(q);
  }
  SORDINO_HD Sums<1> row(i32 i) {
    double own = p[i], product = slab.times(i, own, p);
    q[i] = product;
    return {{own * product}};
  }
  Cost cost() const { return {16.0 * slab.rows, 10.0 * slab.rows}; }
};

struct Residual {
  Get rho, pq;
  In q;
  InOut r;
  double alpha = 0;
  SORDINO_HD void head() { alpha = rho / pq; }
  SORDINO_HD Sums<1> row(i32 i) {
    double left = r[i] - alpha * q[i];
    r[i] = left;
    return {{left * left}};
  }
};

/// Ends the loop where nothing is left to do; what is compared is to be measured before that.
struct Vanished {
  Get rho;
  SORDINO_HD int test() const { return rho > 0 ? proceed : rho == rho ? met : blew_up; }
  SORDINO_HD double value() const { return rho; }
};

struct Direction {
  Get rho, rho_old, pq;
  In r;
  InOut x, p;
  double alpha = 0, beta = 0;
  SORDINO_HD void head() {
    alpha = rho_old / pq;
    beta = rho / rho_old;
  }
  SORDINO_HD void row(i32 i) {  // all loads before the first store: the compiler may not move one past the other
    double along = p[i], left = r[i], at = x[i];
    x[i] = at + alpha * along;
    p[i] = left + beta * along;
  }
};

using Kernels = KernelList<Kernel<Begin>, Kernel<Product>, Kernel<Residual>, Kernel<Direction, Vanished>>;

// --- the program -------------------------------------------------------------------------------------------------------------

/// Times the recorded loop, each time from the same beginning, and returns r'r after each iteration of the last replay.
inline std::vector<double> cg(Rank& s, int bits, overlap::Stopwatch& watch) {
  const Slab slab(bits, s.id(), s.size());
  Exchange planes = overlap::lines_of_neighbours(s, slab.plane, slab.rows);
  int space = s.add_space(equal_parts(slab.rows, s.id(), s.size(), std::min(256, slab.plane)));  // planes are whole tiles
  Vec x = s.vector("x", space), r = s.vector("r", space), q = s.vector("q", space), p = s.vector("p", space, &planes);
  Scal rho = s.scalar("rho"), rho_old = s.scalar("rho_old"), pq = s.scalar("pq");
  Recorded begin = s.record([&] {
    s.run(Begin{x, r, p, slab.first_row}, start(rho_old), push(p));
    s.wait(rho_old);
  });
  Recorded loop = s.loop({.scalars = {{rho, rho_old}}}, [&] {
    s.run(Product{slab, p, q}, start(pq));
    s.run(Residual{rho_old, Get(finish(pq)), q, r}, start(rho));
    s.exit_if(Vanished{Get(finish(rho))});
    s.run(Direction{rho, rho_old, pq, r, x, p}, push(p));
  });
  std::size_t before = 0;
  watch.time(s, loop, [&] {
    before = s.history.size();
    s.replay(begin);
  });
  return {s.history.begin() + std::ptrdiff_t(before), s.history.end()};
}

/// Throws `device` if a history is not as long as it must be, or strays from another one in its first iterations by more than
/// 1e-10 of where it began (rounding differs: sums are taken in another order).
inline void require_same_history(const std::vector<double>& found, const std::vector<double>& wanted, double first,
                                 std::size_t iterations, const std::string& way) {
  if (found.size() != iterations || wanted.size() != iterations)
    throw Error(Errc::device, way + ": " + std::to_string(found.size()) + " iterations, not " + std::to_string(iterations));
  for (std::size_t k = 0; k < std::min<std::size_t>(iterations, 20); k++)
    if (!(std::abs(found[k] - wanted[k]) <= 1e-10 * first))
      throw Error(Errc::device, way + ": r'r after iteration " + std::to_string(k + 1) + " is " + std::to_string(found[k]) +
                                    ", not " + std::to_string(wanted[k]));
}

/// r'r before the first iteration: b'b.
inline double first_sum(int bits) {
  double sum = 0;
  for (i64 row = 0; row < i64(1) << 3 * bits; row++) sum += charge(row) * charge(row);
  return sum;
}

}  // namespace sordino::loops
