// Two solvers recorded by hand, so that the engines are tested without layer `solvers`: classic PCG, and pipelined CG after
// Ghysels and Vanroose.
#pragma once
#include "slabs.hpp"

namespace programs {

using namespace sordino;
using slabs::Shape;
using slabs::Slab;

struct Below {
  Get rr, target;
  SORDINO_HD int test() const { return rr <= target ? met : proceed; }
  SORDINO_HD double value() const { return rr; }
};

struct Begin {  // x = 0, r = b, p = d b
  In b, d;
  Out x, r, p;
  SORDINO_HD Sums<2> row(i32 i) {
    x[i] = 0;
    r[i] = b[i];
    p[i] = d[i] * b[i];
    return {b[i] * p[i], b[i] * b[i]};
  }
};

struct Update {  // x += alpha p, r -= alpha q, z = d r
  Get rz, pq;
  In p, q, d;
  InOut x, r;
  Out z;
  double alpha = 0;
  static constexpr double flops = 9;
  SORDINO_HD void head() { alpha = rz / pq; }
  SORDINO_HD Sums<2> row(i32 i) {
    x[i] += alpha * p[i];
    double ri = r[i] - alpha * q[i], zi = d[i] * ri;
    r[i] = ri;
    z[i] = zi;
    return {ri * zi, ri * ri};
  }
};

struct Direction {  // p = z + beta p
  Get rz, rz_old;
  In z;
  InOut p;
  double beta = 0;
  static constexpr double flops = 2;
  SORDINO_HD void head() { beta = rz / rz_old; }
  SORDINO_HD void row(i32 i) { p[i] = z[i] + beta * p[i]; }
};

struct PipelinedBegin {
  In b, d;
  Out x, r, u, z, q, s, p;
  SORDINO_HD void row(i32 i) {
    x[i] = z[i] = q[i] = s[i] = p[i] = 0;
    r[i] = b[i];
    u[i] = d[i] * b[i];
  }
};

struct Precondition {
  In d, w, r, u;
  Out m;
  SORDINO_HD Sums<3> row(i32 i) {
    m[i] = d[i] * w[i];
    return {r[i] * u[i], w[i] * u[i], r[i] * r[i]};
  }
};

struct PipelinedStep {
  Get gamma, gamma_old, delta, alpha_old;
  Put alpha;
  In d, n, m_old;
  InOut z, q, s, p, x, r, u, w;
  Out m;
  double a = 0, beta = 0;
  static constexpr double flops = 23;
  SORDINO_HD void head() {
    beta = gamma / gamma_old;
    a = gamma / (delta - beta * gamma / alpha_old);
    alpha = a;
  }
  SORDINO_HD Sums<3> row(i32 i) {
    double zi = n[i] + beta * z[i], qi = m_old[i] + beta * q[i], si = w[i] + beta * s[i], pi = u[i] + beta * p[i];
    z[i] = zi;
    q[i] = qi;
    s[i] = si;
    p[i] = pi;
    x[i] += a * pi;
    double ri = r[i] - a * si, ui = u[i] - a * qi, wi = w[i] - a * zi;
    r[i] = ri;
    u[i] = ui;
    w[i] = wi;
    m[i] = d[i] * wi;
    return {ri * ui, wi * ui, ri * ri};
  }
};

/// What both have in common.
struct System {
  System(Rank& s, const Shape& shape) : A(s, shape), b(A.vector(s, "b")), d(A.vector(s, "d")), x(A.vector(s, "x")) {
    A.fill(s, b, [](i64 row) { return 1 + double(row * 7919 % 101) / 101; });
    A.fill(s, d, [&](i64 row) { return 1 / A.diagonal(row); });
  }
  Slab A;
  Vec b, d, x;
};

/// Memory bytes of a rank's iteration, from the fields above.
inline double pcg_bytes(const Shape& k, i64 rows) { return double(rows) * (k.matrix_bytes + 16 + 64 + 24); }
inline double pipelined_bytes(const Shape& k, i64 rows) { return double(rows) * (k.matrix_bytes + 16 + 160); }
inline double operator_bytes(const Shape& k, i64 rows) { return double(rows) * (k.matrix_bytes + 16); }

inline Outcome pcg(Rank& s, const Shape& shape, double rtol, int max) {
  System k(s, shape);
  Vec r = k.A.vector(s, "r"), z = k.A.vector(s, "z"), p = k.A.operand(s, "p"), q = k.A.vector(s, "q");
  Scal pq = s.scalar("pq"), rz = s.scalar("rz"), rr = s.scalar("rr"), rz_old = s.scalar("rz_old"), bb = s.scalar("bb");
  Scal target = s.scalar("target", 0.0);
  Recorded begin = s.record([&] {
    s.run(Begin{.b = k.b, .d = k.d, .x = k.x, .r = r, .p = p}, start(rz_old, bb), push(p));
    s.wait(rz_old);
  });
  Recorded loop = s.loop({.scalars = {{rz, rz_old}}}, [&] {
    k.A.apply(s, p, q, start(dot(p, q) >> pq));
    s.run(Update{.rz = rz_old, .pq = finish(pq), .p = p, .q = q, .d = k.d, .x = k.x, .r = r, .z = z}, start(rz, rr));
    s.exit_if(Below{finish(rr), target});
    s.run(Direction{.rz = rz, .rz_old = rz_old, .z = z, .p = p}, push(p));
  });
  s.replay(begin);
  if (s.engine().arithmetic()) s.set(target, rtol * rtol * s.get(bb));
  return s.replay(loop, max);
}

inline Outcome pipelined(Rank& k, const Shape& shape, double rtol, int max, bool rotates = true) {
  System y(k, shape);
  Vec r = y.A.vector(k, "r"), u = y.A.operand(k, "u"), w = y.A.vector(k, "w"), n = y.A.vector(k, "n"), z = y.A.vector(k, "z");
  Vec q = y.A.vector(k, "q"), s = y.A.vector(k, "s"), p = y.A.vector(k, "p"), m = y.A.operand(k, "m");
  Vec m_old = rotates ? y.A.operand(k, "m_old") : m;
  Scal gamma = k.scalar("gamma"), gamma_old = k.scalar("gamma_old", HUGE_VAL), delta = k.scalar("delta"), rr = k.scalar("rr");
  Scal alpha = k.scalar("alpha"), alpha_old = k.scalar("alpha_old", 1), bb = k.scalar("bb"), target = k.scalar("target", 0.0);
  Recorded norm = k.record([&] {
    k.dots(dot(y.b, y.b) >> bb);
    k.wait(bb);
  });
  Recorded begin = k.record([&] {
    k.run(PipelinedBegin{.b = y.b, .d = y.d, .x = y.x, .r = r, .u = u, .z = z, .q = q, .s = s, .p = p}, push(u));
    y.A.apply(k, u, w);
    k.run(Precondition{.d = y.d, .w = w, .r = r, .u = u, .m = m_old}, start(gamma, delta, rr), push(m_old));
  });
  Rotation rotation{.vectors = {}, .scalars = {{gamma, gamma_old}, {alpha, alpha_old}}};
  if (rotates) rotation.vectors = {{m, m_old}};
  Recorded loop = k.loop(rotation, [&] {
    y.A.apply(k, m_old, n);  // hides all three sums
    k.exit_if(Below{finish(rr), target});
    k.run(PipelinedStep{.gamma = gamma,
                        .gamma_old = gamma_old,
                        .delta = delta,
                        .alpha_old = alpha_old,
                        .alpha = alpha,
                        .d = y.d,
                        .n = n,
                        .m_old = m_old,
                        .z = z,
                        .q = q,
                        .s = s,
                        .p = p,
                        .x = y.x,
                        .r = r,
                        .u = u,
                        .w = w,
                        .m = m},
          start(gamma, delta, rr), push(m));
  });
  k.replay(norm);
  if (k.engine().arithmetic()) k.set(target, rtol * rtol * k.get(bb));
  k.replay(begin);
  return k.replay(loop, max);
}

}  // namespace programs
