// BiCGStab written as a flow of events, as GMH proposed it for message passing between GPUs (Fig. 2 of its paper): while the
// surface of a slab travels, the product's interior rows are computed (IMV); its surface rows (SMV) follow when the messages
// are there; reductions end the step, and a control task ends the loop on all ranks.
//
//   build/examples/bicgstab_by_hand [cells in each direction [ranks]]
//
// Commands of one queue run in order; others run beside them, unless one of two touches what the other writes, or an event
// says who comes first. The library's own BiCGStab (solvers/bicgstab.cpp) is the same program with fused commands.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "slab.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

// --- the problem: convection and diffusion on n x n cells, of which each rank has some lines ---

struct Grid {
  i32 n, rows;
  i32 below, above;  // where the neighbours' lines lie among the ghosts; -1 at the rim
  static constexpr double wind = 0.1;
  template <class U>
  SORDINO_HD double product(const U& u, i32 i) const {
    i32 x = i % n;
    double west = x > 0 ? u[i - 1] : 0, east = x + 1 < n ? u[i + 1] : 0;
    double south = i >= n ? u[i - n] : below >= 0 ? u[below + x] : 0;
    double north = i + n < rows ? u[i + n] : above >= 0 ? u[above + x] : 0;
    return 4 * u[i] - (1 + wind) * (west + south) - (1 - wind) * (east + north);
  }
};

struct InteriorProduct {  // IMV: needs nothing from other ranks
  In u;
  Out v;
  Grid grid;
  SORDINO_HD void row(i32 i) { v[i] = grid.product(u, i); }
};
struct SurfaceProduct {  // SMV: waits for the neighbours' lines
  Ghost u;
  InOut v;
  Grid grid;
  SORDINO_HD void row(i32 i) { v[i] = grid.product(u, i); }
};

// --- the steps of BiCGStab ---

struct Begin {  // x = 0, r = rh = p = b
  In b;
  Out x, r, rh, p;
  SORDINO_HD Sums<1> row(i32 i) {
    x[i] = 0;
    r[i] = rh[i] = p[i] = b[i];
    return {b[i] * b[i]};
  }
};
struct HalfStep {  // alpha = rho / (rh, v);  s = r - alpha v
  Get rho, rv;
  Put alpha;
  In r, v;
  Out s;
  double a = 0;
  SORDINO_HD void head() { alpha = a = rho / rv; }
  SORDINO_HD void row(i32 i) { s[i] = r[i] - a * v[i]; }
};
struct Residual {  // omega = (t, s) / (t, t);  r = s - omega t
  Get ts, tt;
  Put omega;
  In s, t, rh;
  Out r;
  double w = 0;
  SORDINO_HD void head() { omega = w = ts / tt; }
  SORDINO_HD Sums<2> row(i32 i) {
    double ri = s[i] - w * t[i];
    r[i] = ri;
    return {{rh[i] * ri, ri * ri}};
  }
};
struct Solution {  // x += alpha p + omega s: nobody waits for it
  Get alpha, omega;
  In p, s;
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i] + omega * s[i]; }
};
struct Direction {  // beta = rho' / rho * alpha / omega;  p = r + beta (p - omega v)
  Get rho_new, rho, alpha, omega;
  In r, v;
  InOut p;
  double beta = 0;
  SORDINO_HD void head() { beta = rho_new / rho * (alpha / omega); }
  SORDINO_HD void row(i32 i) { p[i] = r[i] + beta * (p[i] - omega * v[i]); }
};
struct Small {
  Get rr, limit;
  SORDINO_HD int test() const { return rr <= limit ? met : rr == rr ? proceed : blew_up; }
  SORDINO_HD double value() const { return rr; }
};

struct Result {
  Outcome outcome;
  double residual = 0;  // recomputed, relative
};

Result solve(Rank& s, i32 n, double rtol) {
  slabs::Slab slab = slabs::cut(s, n);
  Grid grid{n, slab.rows, slab.below, slab.above};
  auto vector = [&](const char* name) { return s.vector(name, slab.space); };
  auto sent = [&](const char* name) { return s.vector(name, slab.space, &slab.lines); };
  Vec b = vector("b"), x = sent("x"), r = vector("r"), rh = vector("rh"), v = vector("v"), t = vector("t");
  Vec p = sent("p"), half = sent("s");
  Scal rho = s.scalar("rho"), rho_new = s.scalar("rho'"), rv = s.scalar("(rh,v)"), ts = s.scalar("(t,s)"),
       tt = s.scalar("(t,t)");
  Scal rr = s.scalar("(r,r)"), alpha = s.scalar("alpha"), omega = s.scalar("omega"), limit = s.scalar("limit", 0);

  // v = A u, as two commands. Both wait for whoever wrote u; the second also for its neighbours' messages.
  auto multiply = [&](Vec u, Vec to) {
    Event imv = s.run_split(InteriorProduct{u, to, grid}, {slab.split.first, {}});
    s.run_split(SurfaceProduct{u, to, grid}, {{}, slab.split.rest}, after(imv));
  };

  std::vector<double> ones(std::size_t(slab.rows), 1.0);
  s.write(b, ones.data());
  Recorded begin = s.record([&] {
    s.run(Begin{b, x, r, rh, p}, push(p), start(rho));
    s.wait(rho);
  });
  Recorded loop = s.loop({.scalars = {{rho_new, rho}}}, [&] {
    multiply(p, v);
    s.dots(dot(rh, v) >> rv);
    s.run(HalfStep{rho, finish(rv), alpha, r, v, half}, push(half));
    multiply(half, t);
    s.dots(dot(t, half) >> ts, dot(t, t) >> tt);
    Event residual = s.run(Residual{finish(ts), finish(tt), omega, half, t, rh, r}, start(rho_new, rr));
    s.on(1, [&] { return s.run(Solution{alpha, omega, p, half, x}, after(residual)); });
    s.exit_if(Small{finish(rr), limit});
    s.run(Direction{rho_new, rho, alpha, omega, r, v, p}, push(p));
  });
  Recorded check = s.record([&] {  // ||b - A x||, from x alone
    s.run(Nothing{}, push(x));
    multiply(x, v);
    s.run(Residual{ts, tt, omega, b, v, b, r}, start(rho_new, rr));
    s.wait(rr);
  });

  s.replay(begin);
  double bb = s.get(rho);
  s.set(limit, rtol * rtol * bb);
  Outcome outcome = s.replay(loop, 10 * n);
  s.set(ts, 1), s.set(tt, 1);  // omega = 1: r = b - A x
  s.replay(check);
  return {outcome, std::sqrt(s.get(rr) / bb)};
}

}  // namespace

int main(int argc, char** argv) try {
  i32 n = argc > 1 ? std::atoi(argv[1]) : 64;
  int ranks = argc > 2 ? std::atoi(argv[2]) : 4;
  if (ranks < 1 || n < 3 * ranks) bad_argument("a slab takes at least 3 lines a rank");
  constexpr double rtol = 1e-8;
  host::HostEngine engine({.ranks = ranks});
  Result result;
  engine.run([&](Rank& s) {
    Result mine = solve(s, n, rtol);
    if (s.id() == 0) result = mine;
  });
  const Ledger& l = engine.rank(0).ledger;
  std::printf("%d unknowns on %d ranks: %d iterations, ||b - A x|| / ||b|| = %.2e, recomputed\n", n * n, ranks,
              result.outcome.iterations, result.residual);
  std::printf("rank 0 started %lld reductions and sent %lld messages\n", static_cast<long long>(l.reductions),
              static_cast<long long>(l.messages));
  return result.outcome.verdict == met && result.residual <= 2 * rtol ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "bicgstab_by_hand: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
