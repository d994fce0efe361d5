// A Poisson problem on a grid cut into slabs, and conjugate gradients for it, recorded by hand: the same program for the host
// and the cuda engine.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace test {
using namespace sordino;

/// y = A x for a 7-point stencil with a coefficient array for each neighbour; ghost planes lie behind the own rows.
struct StencilRows {
  static constexpr int lanes = 1;
  static constexpr const char* name = "Stencil";
  const double* c[7];
  i32 nx, plane, n;
  i32 below, above;  // what to add to a row of the first or last plane to find its neighbour outside
  Ghost x;
  Out y;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD double sum(i32 i, int, int) const {
    i32 down = i < plane ? i + below : i - plane, up = i >= n - plane ? i + above : i + plane;
    return c[0][i] * x[i] + c[1][i] * x[i > 0 ? i - 1 : i] + c[2][i] * x[i + 1 < n ? i + 1 : i] +
           c[3][i] * x[i >= nx ? i - nx : i] + c[4][i] * x[i + nx < n ? i + nx : i] + c[5][i] * x[down] + c[6][i] * x[up];
  }
  SORDINO_HD void store(i32 i, double v) { y[i] = v; }
  Cost cost() const { return {7.0 * 8 * n, 13.0 * n}; }
};

struct Begin {
  In b;
  Scaling d;
  Out x, r, z, p;
  SORDINO_HD Sums<2> row(i32 i) {
    x[i] = 0;
    double ri = b[i], zi = ri * d[i];
    r[i] = ri;
    z[i] = zi;
    p[i] = zi;
    return {{ri * zi, ri * ri}};
  }
};

struct Update {
  Get rho, pq;
  In p, q;
  Scaling d;
  InOut x, r;
  Out z;
  double alpha = 0;
  SORDINO_HD void head() { alpha = rho / pq; }
  // All loads before the first store: the compiler may not move one past the other.
  SORDINO_HD Sums<2> row(i32 i) {
    double pi = p[i], qi = q[i], di = d[i], xi = x[i], ri = r[i];
    ri -= alpha * qi;
    double zi = ri * di;
    x[i] = xi + alpha * pi;
    r[i] = ri;
    z[i] = zi;
    return {{ri * zi, ri * ri}};
  }
};

struct Converged {
  Get rr;
  double limit;
  SORDINO_HD int test() const { return rr <= limit ? met : rr == rr ? proceed : blew_up; }
  SORDINO_HD double value() const { return rr; }
};

struct Direction {
  Get rho_new, rho;
  In z;
  InOut p;
  double beta = 0;
  SORDINO_HD void head() { beta = rho_new / rho; }
  SORDINO_HD void row(i32 i) { p[i] = z[i] + beta * p[i]; }
};

using CgKernels = KernelList<Kernel<Applied<StencilRows, 1>>, Kernel<Begin>, Kernel<Update>, Kernel<Direction, Converged>>;

/// One rank's slab: planes z0 to z1 of nz.
struct Slab {
  Slab(int nx, int ny, int nz, int rank, int ranks)
      : nx(nx), ny(ny), nz(nz), z0(nz * rank / ranks), z1(nz * (rank + 1) / ranks) {
    plane = nx * ny;
    n = plane * (z1 - z0);
    space.n_global = i64(plane) * nz;
    space.first_row = i64(plane) * z0;
    space.rows = n;
    space.n_blocks = nz;
    space.first_block = z0;
    std::vector<i32> block_rows;
    for (int z = z0; z <= z1; z++) block_rows.push_back((z - z0) * plane);
    set_tiles(space, block_rows);
    bool low = rank > 0, high = rank + 1 < ranks;
    if (low) {
      int neighbour_rows = plane * (z0 - nz * (rank - 1) / ranks);
      int their_ghosts_before = rank - 1 > 0 ? plane : 0;
      exchange.peers.push_back({.rank = rank - 1,
                                .recv_first = n,
                                .recv_count = plane,
                                .send_count = plane,
                                .send_rows = {},
                                .send_first = 0,
                                .remote_first = neighbour_rows + their_ghosts_before,
                                .remote_index = rank - 1 > 0 ? 1 : 0});
    }
    if (high) {
      int neighbour_rows = plane * (nz * (rank + 2) / ranks - z1);
      exchange.peers.push_back({.rank = rank + 1,
                                .recv_first = n + (low ? plane : 0),
                                .recv_count = plane,
                                .send_count = plane,
                                .send_rows = {},
                                .send_first = n - plane,
                                .remote_first = neighbour_rows,
                                .remote_index = 0});
    }
    exchange.ghosts = plane * (int(low) + int(high));
    std::vector<RowRange> rim, inside;
    i32 a = low ? plane : 0, b = high ? n - plane : n;
    if (low) rim.push_back({0, std::min(plane, n)});
    if (high && n - plane >= a) rim.push_back({n - plane, n});
    if (b > a) inside.push_back({a, b});
    exchange.producer = {rim, inside};
    exchange.consumer = {inside, rim};
    below = low ? n : 0;
    above = high ? plane + (low ? plane : 0) : 0;
  }

  int nx, ny, nz, z0, z1;
  i32 plane = 0, n = 0, below = 0, above = 0;
  Space space;
  Exchange exchange;
};

/// Jacobi-preconditioned conjugate gradients on a slab. Coefficients jump by `contrast` inside a ball.
class Cg {
 public:
  Cg(Rank& rank, int nx, int ny, int nz, double contrast) : rank_(rank), slab_(nx, ny, nz, rank.id(), rank.size()), rows_{} {
    space_ = rank.add_space(slab_.space);
    make_coefficients(contrast);
    auto v = [&](const char* name) { return rank.vector(name, space_); };
    b = v("b"), d = v("d"), x = v("x"), r = v("r"), z = v("z"), q = v("q");
    p = rank.vector("p", space_, &slab_.exchange);
    rank.write(d, diagonal_.data());
    rho = rank.scalar("rho"), rho_new = rank.scalar("rho_new"), pq = rank.scalar("pq"), rr = rank.scalar("rr"),
    rr0 = rank.scalar("rr0");
    begin_ = rank.record([&] {
      rank.run(Begin{b, d, x, r, z, p}, start(rho, rr0), push(p));
      rank.wait(rho);
    });
  }
  ~Cg() {
    for (void* c : arrays_) rank_.engine().release_bytes(rank_, c, std::size_t(slab_.n) * 8);
  }

  const Slab& slab() const { return slab_; }
  i32 rows() const { return slab_.n; }

  /// Until ||r||^2 <= limit.
  Outcome solve(const double* rhs, double limit, int max) {
    rank_.reset_names();
    rank_.write(b, rhs);
    return iterate(limit, max);
  }
  /// What stands before the loop: of this class, or of a test.
  void begin() { rank_.replay(begin_); }
  Outcome iterate(double limit, int max) {
    begin();
    if (!loop_ || limit != limit_) record_loop(limit);
    return rank_.replay(loop_, max);
  }
  /// Records q = A p, and starts p'q.
  void multiply() {
    StencilRows rows = rows_;
    rows.x = p;
    rows.y = q;
    rank_.apply_rows(rows, &slab_.exchange.consumer, q, start(dot(q, p) >> pq));
  }
  std::vector<double> solution() {
    std::vector<double> h(slab_.n);
    rank_.read(x, h.data());
    return h;
  }
  /// A right-hand side that does not depend on the number of ranks.
  std::vector<double> right_hand_side() const {
    std::vector<double> h(slab_.n);
    for (i32 i = 0; i < slab_.n; i++) h[i] = 1 + ((u32(i + slab_.space.first_row) * 2654435761u) >> 8) % 1000 / 1000.0;
    return h;
  }

  Vec b, d, x, r, z, q, p;
  Scal rho, rho_new, pq, rr, rr0;

 private:
  void record_loop(double limit) {
    limit_ = limit;
    Rotation rotation;
    rotation.scalars = {{rho_new, rho}};
    loop_ = rank_.loop(rotation, [&] {
      multiply();
      rank_.run(Update{rho, Get(finish(pq)), p, q, d, x, r, z}, start(rho_new, rr));
      rank_.exit_if(Converged{Get(finish(rr)), limit});
      rank_.run(Direction{Get(finish(rho_new)), rho, z, p}, push(p));
    });
  }

  void make_coefficients(double contrast) {
    const Slab& s = slab_;
    auto k = [&](int a, int b, int c) {
      double u = (a - s.nx * .5) / s.nx, v = (b - s.ny * .5) / s.ny, w = (c - s.nz * .5) / s.nz;
      return u * u + v * v + w * w < .06 ? contrast : 1.0;
    };
    std::vector<double> c[7];
    for (auto& a : c) a.resize(s.n);
    diagonal_.resize(s.n);
    for (i32 i = 0; i < s.n; i++) {
      int x = i % s.nx, y = i / s.nx % s.ny, zz = i / s.plane + s.z0;
      double me = k(x, y, zz), sum = 0;
      auto face = [&](int a, int b, int e) {
        double other = k(a, b, e), h = 2 * me * other / (me + other);
        sum += h;
        return a < 0 || b < 0 || e < 0 || a >= s.nx || b >= s.ny || e >= s.nz ? 0.0 : -h;
      };
      c[1][i] = face(x - 1, y, zz), c[2][i] = face(x + 1, y, zz), c[3][i] = face(x, y - 1, zz);
      c[4][i] = face(x, y + 1, zz), c[5][i] = face(x, y, zz - 1), c[6][i] = face(x, y, zz + 1);
      c[0][i] = sum;
      diagonal_[i] = 1 / sum;
    }
    rows_.nx = s.nx, rows_.plane = s.plane, rows_.n = s.n, rows_.below = s.below, rows_.above = s.above;
    for (int j = 0; j < 7; j++) {
      std::size_t bytes = std::size_t(s.n) * sizeof(double);
      void* p = rank_.engine().allocate_bytes(rank_, bytes);
      rank_.engine().upload(rank_, p, c[j].data(), bytes);
      arrays_.push_back(p);
      rows_.c[j] = static_cast<const double*>(p);
    }
  }

  Rank& rank_;
  Slab slab_;
  int space_ = -1;
  StencilRows rows_;
  std::vector<void*> arrays_;
  std::vector<double> diagonal_;
  Recorded begin_, loop_;
  double limit_ = -1;
};

}  // namespace test
