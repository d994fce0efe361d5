// An operator without a matrix, and a preconditioner made of it: the library's methods take both.
//
//   build/examples/own_operator [cells in each direction [ranks]]
//
// docs/writing_an_operator.md goes through it.
#include <cstdio>
#include <cstdlib>

#include "slab.hpp"
#include "sordino/base/error.hpp"
#include "sordino/precond/given.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/solvers/driver.hpp"

using namespace sordino;

namespace {

constexpr double diagonal = 4.01;  // 4 for -laplace(u), and a little for u itself

// [row]
/// Row i of y = A x on n x n cells, of which this rank has some lines; the neighbours' lines are ghosts of x.
struct FivePoints {
  static constexpr int lanes = 1;  // one thread a row
  static constexpr const char* name = "FivePoints";
  Ghost x;
  Out y;
  i32 n, rows;
  i32 below, above;  // where the neighbours' lines begin behind the own rows; -1 at the rim

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD double sum(i32 i, int, int) const {
    i32 column = i % n;
    double west = column > 0 ? x[i - 1] : 0, east = column + 1 < n ? x[i + 1] : 0;
    double south = i >= n ? x[i - n] : below >= 0 ? x[below + column] : 0;
    double north = i + n < rows ? x[i + n] : above >= 0 ? x[above + column] : 0;
    return diagonal * x[i] - west - east - south - north;
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return {0, 5.0 * rows}; }  // bytes beyond those of x and y: none, there is no matrix
};
// [end of row]

// [operator]
/// One command and one halo an application; the inside of the slab is computed while the lines travel.
class Laplacian final : public Operator {
 public:
  Laplacian(Rank& rank, i32 n) : slab_(slabs::cut(rank, n)) {}

  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override {
    rank.apply_rows(FivePoints{x, y, slab_.n, slab_.rows, slab_.below, slab_.above}, &slab_.split, y, epilogue);
  }
  int space() const override { return slab_.space; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, slab_.space, &slab_.lines); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, slab_.space); }

 private:
  slabs::Slab slab_;
};
// [end of operator]

// [preconditioner]
struct FirstSweep {  // t = r / d;  r is pushed by the method, so what reads it first waits for it
  Ghost r;
  Out t;
  static constexpr double flops = 1;
  SORDINO_HD void row(i32 i) { t[i] = r[i] / diagonal; }
};

/// Row i of z = t + (r - A t) / d, as the functor of an operator: its dot products are taken from registers.
struct SecondSweep {
  static constexpr int lanes = 1;
  static constexpr const char* name = "SecondSweep";
  In r, t, At;
  Out z;
  i32 rows;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(r);
    visit(t);
    visit(At);
    visit(z);
  }
  SORDINO_HD double sum(i32 i, int, int) const { return t[i] + (r[i] - At[i]) / diagonal; }
  SORDINO_HD void store(i32 i, double value) const { z[i] = value; }
  Cost cost() const { return {0, 3.0 * rows}; }
};

/// M^-1 = two sweeps of Jacobi's method: symmetric, and positive definite where A is diagonally dominant. An application of A,
/// 2 more commands, 1 halo, no reduction; 2 n words.
class TwoSweeps final : public Operator {
 public:
  TwoSweeps(Rank& rank, const Operator& A) : A_(A), t_(A.operand(rank, "t")), At_(A.result(rank, "A t")) {}

  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override {
    rank.run(FirstSweep{r, t_}, push(t_));
    A_.apply(rank, t_, At_);
    rank.apply_rows(SecondSweep{r, t_, At_, z, rank.space(space()).rows}, nullptr, z, epilogue);
  }
  int space() const override { return A_.space(); }
  // Methods push what an operator is applied to. This one needs own rows only: nothing travels.
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space(), &nothing_travels_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space()); }

 private:
  const Operator& A_;
  Exchange nothing_travels_;
  Vec t_, At_;
};
// [end of preconditioner]

// [solve]
SolveOutcome solve(Rank& s, i32 n, bool preconditioned) {
  Laplacian A(s, n);
  Identity nothing;
  GivenOperator sweeps(std::make_unique<TwoSweeps>(s, A));
  const Preconditioner& M = preconditioned ? static_cast<const Preconditioner&>(sweeps) : nothing;
  Driver driver(s, A, M, method("cg"), /*check_every=*/32, /*replace_every=*/0);
  const std::vector<double> b(static_cast<std::size_t>(driver.space().rows), 1.0);  // this rank's rows
  return driver.solve(b.data(), nullptr, {.rtol = 1e-10});
}
// [end of solve]

SolveOutcome solve_on(int ranks, i32 n, bool preconditioned) {
  SolveOutcome out;
  host::HostEngine threads({.ranks = ranks});
  threads.run([&](Rank& s) {
    SolveOutcome mine = solve(s, n, preconditioned);
    if (s.id() == 0) out = mine;
  });
  std::printf("%d ranks, %s preconditioner: %s after %d iterations, ||b - A x|| / ||b|| = %.2e, recomputed\n", ranks,
              preconditioned ? "with the" : "no", name(out.status), out.iterations, out.residual_norm / out.b_norm);
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const i32 n = argc > 1 ? std::atoi(argv[1]) : 48;
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 3;
  if (ranks < 1 || n < 3 * ranks) bad_argument("a slab takes at least 3 lines a rank");
  const SolveOutcome plain = solve_on(ranks, n, false), swept = solve_on(ranks, n, true), alone = solve_on(1, n, true);
  const bool good = plain.status == Status::converged && swept.status == Status::converged &&
                    swept.iterations < plain.iterations &&
                    swept.history == alone.history;  // sums are taken line by line: the same bits on any number of ranks
  return good ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "own_operator: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
