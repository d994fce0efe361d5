// Precond mg with cycles in lower precision: the iterations of double's and as small a residual, the bits of other engines, no
// range that is left unnoticed, and half the bytes.
#include <array>
#include <cmath>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/grid_levels.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

constexpr std::array lower{"single", "half"};

Options with(const Extents& g, const std::string& precision, int ranks = 1, const std::string& method = "cg") {
  Options o = options(method, "host", ranks);
  o.precond = "mg";
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  o.cycle_precision = precision;
  return o;
}

CsrMatrix times(double factor, CsrMatrix A) {
  for (double& value : A.values) value *= factor;
  return A;
}

std::vector<double> times(double factor, std::vector<double> b) {
  for (double& value : b) value *= factor;
  return b;
}

Extents any_cells(fresh::Random& random) { return {random.whole(3, 16), random.whole(3, 16), random.whole(12, 28)}; }

/// Iterations, once the solve has been found to be as near as it says, on the model, too.
int iterations_of(const CsrMatrix& A, const std::vector<double>& b, const Options& o) {
  const Solved s = solve(A.view(), b, o);
  CHECK(s.report.status == Status::converged);
  CHECK(relative_residual(A, s.x, b) <= o.rtol * (1 + 1e-3));
  Options model = o;
  model.engine = "model", model.seed = 3;
  CHECK(solve(A.view(), b, model).x == s.x);
  return s.report.iterations;
}

/// Neither takes more than one iteration more than so many times those of double.
void takes_doubles_iterations(const CsrMatrix& A, const std::vector<double>& b, const Options& in_double, double times = 1) {
  const int of_double = iterations_of(A, b, in_double);
  for (const char* precision : lower) {
    Options o = in_double;
    o.cycle_precision = precision;
    const int found = iterations_of(A, b, o);
    NOTE(o.solver, ", ", precision, ": ", found, " iterations, in double ", of_double);
    CHECK(found <= times * of_double + 1);
  }
}

}  // namespace

TEST("lower precision: the iterations of double's cycles, for cg and fcg, on any grid, ranks, stencil and contrast") {
  NOTE(fresh::said());
  fresh::Random random(871);
  for (int turn = 0; turn < 2; turn++)
    for (int stencil : {7, 27})
      for (double contrast : {1.0, 1e3, 1e6}) {
        const Extents grid = any_cells(random);
        const int ranks = int(random.whole(1, 3));
        const CsrMatrix A = poisson(grid[0], grid[1], grid[2], stencil, contrast);
        const auto b = random.normals(A.n);
        for (const char* method : {"cg", "fcg"})
          for (double rtol : {1e-8, 1e-12}) {
            if (rtol < 1e-8 && contrast > 1e3) continue;  // rounding of A x hides 1e-12 there, in double, too
            // Stiff cells amplify what rounds x (ADR 55).
            const double times = contrast > 1e3 ? 3 : contrast > 1 ? 1.5 : 1.25;
            NOTE(shown(grid), ", ", stencil, " points, contrast ", contrast, ", ", ranks, " ranks, to ", rtol);
            Options o = with(grid, "double", ranks, method);
            o.rtol = rtol;
            takes_doubles_iterations(A, b, o, times);
          }
      }
}

TEST("lower precision: closed boxes, solids, and cycles F and W") {
  NOTE(fresh::said());
  fresh::Random random(872);
  for (int turn = 0; turn < 3; turn++) {
    const Extents grid = any_cells(random);
    const int ranks = int(random.whole(1, 3));
    NOTE(shown(grid), ", ", ranks, " ranks");
    const CsrMatrix closed = matrix_of({.cells = grid, .is_open = false, .contrast = 100});
    Options o = with(grid, "double", ranks);
    o.nullspace = "constant";
    takes_doubles_iterations(closed, without_mean(random.normals(closed.n)), o);
    const CsrMatrix solid = with_solids(random, poisson(grid[0], grid[1], grid[2], 7, 10), 0.2);
    const auto b = random.normals(solid.n);
    for (const char* cycle : {"v", "f", "w"}) {
      o = with(grid, "double", ranks, "fcg");
      o.cycle = cycle;
      takes_doubles_iterations(solid, b, o);
    }
  }
}

TEST("lower precision: down to the first level that other ranks own, whose layers and halves of words begin anywhere") {
  NOTE(fresh::said());
  fresh::Random random(879);
  const std::array grids{Extents{7, 5, 18}, Extents{9, 7, 23}, Extents{16, 15, 33}};
  for (const Extents& grid : grids)
    for (int ranks : {2, 3, 4})
      for (int level_rows : {0, 60, 16384}) {
        const bool wraps = random.whole(0, 1) == 1;
        const Box box{.cells = grid, .contrast = random.real(1, 50), .wraps = {wraps, false, wraps}};
        const CsrMatrix A = matrix_of(box);
        const char* cycle = std::array{"v", "f", "w"}[std::size_t(random.whole(0, 2))];
        NOTE(shown(grid), wraps ? ", periodic, " : ", ", ranks, " ranks, ", level_rows, " rows on one, ", cycle);
        Options o = with(grid, "double", ranks, "fcg");
        o.cycle = cycle, o.level_rows = level_rows;
        takes_doubles_iterations(A, random.normals(A.n), o);
        for (const char* precision : lower) {
          o.cycle_precision = precision;
          CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
        }
      }
}

TEST("lower precision: levels say which of them are in it, and those below are divided") {
  const Extents grid{16, 16, 32};
  const double far = 0x1p40;
  const CsrMatrix A = times(far, poisson(grid[0], grid[1], grid[2], 7, 1));
  const auto levels_of = [&](i64 alone, CyclePrecision precision) {
    const Partition first = partition_in_layers(A.n, grid_layers(A.view(), grid, 4, alone), 4);
    return std::make_shared<GridLevels>(A.view(), grid, first, alone, precision);
  };
  for (i64 alone : {0, 512, 16384}) {
    const auto full = levels_of(alone, CyclePrecision::full), half = levels_of(alone, CyclePrecision::half);
    int lowered = 1;
    while (lowered + 1 < full->count() && !full->level(lowered).moves()) lowered++;
    NOTE(alone, ": ", lowered, " of ", full->count(), " levels");
    CHECK(lowered == (alone == 0 ? full->count() - 1 : alone == 512 ? 2 : 1));
    for (int l = 0; l < full->count(); l++) {
      CHECK(full->precision(l) == CyclePrecision::full);
      CHECK(half->precision(l) == (l < lowered ? CyclePrecision::half : CyclePrecision::full));
      CHECK(half->matrix(l).values[0] == std::ldexp(full->matrix(l).values[0], l < lowered ? 0 : -half->exponent()));
    }
    CHECK(full->exponent() == 0);
    CHECK(half->exponent() == 42);  // of 6 times 2^40
  }
}

TEST("lower precision: every method that takes any preconditioner") {
  NOTE(fresh::said());
  fresh::Random random(873);
  const Extents grid{11, 9, 24};
  const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 100);
  const auto b = random.normals(A.n);
  for (auto& m : methods()) {
    if (m.complex == Factors::of_numbers || !m.any_preconditioner) continue;
    NOTE(m.name);
    if (m.name == "gropp" || m.name == "prcg") {
      CHECK_THROWS(Solver(A.view(), with(grid, "single", 2, m.name)), Error,
                   "solver " + m.name + " follows M^-1 r by a recurrence");
      continue;
    }
    for (const char* precision : lower)
      for (double size : {1.0, 1e-30, 1e30}) iterations_of(A, times(size, b), with(grid, precision, 2, m.name));
  }
}

TEST("lower precision: the size of A and of b changes nothing, and a diagonal of too many sizes is refused") {
  NOTE(fresh::said());
  fresh::Random random(874);
  const Extents grid{12, 10, 20};
  const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 1e3);
  const auto b = random.normals(A.n);
  const double two = 0x1p-100;
  for (const char* precision : lower) {
    const Options o = with(grid, precision, 2);
    const int plain = iterations_of(A, b, o);
    for (double of_A : {1e-30, 1e40, 1e-100})
      for (double of_b : {1e-40, 1.0, 1e60}) {
        NOTE(precision, ": A times ", of_A, ", b times ", of_b);
        CHECK(std::abs(iterations_of(times(of_A, A), times(of_b, b), o) - plain) <= 1);
      }
    CHECK(solve(times(two, A).view(), times(two, b), o).x == solve(A.view(), b, o).x);  // bit by bit

    CsrMatrix far = A;
    far.values = with_diagonal(A, 17, 1e30);
    CHECK_THROWS(Solver(far.view(), o), Error,
                 std::string("cycle_precision ") + precision + " is for diagonals that differ by a factor of 2^");
    Solver solver(A.view(), o);
    const Solved before = solve(solver, b);
    CHECK_THROWS(solver.update_values(far.values.data()), Error, "go from");
    CHECK(solve(solver, b).x == before.x);
  }
  CsrMatrix far = A;
  far.values = with_diagonal(A, 17, 1e12);
  CHECK_THROWS(Solver(far.view(), with(grid, "half")), Error,
               "and those of this matrix go from 6 to 1e+12: use single or double");
  iterations_of(far, b, with(grid, "single"));
  const CsrMatrix cell = poisson(1, 1, 1, 7, 1);  // inverted, whatever is asked
  for (const char* precision : lower) CHECK(iterations_of(times(1e-30, cell), {3.0}, with({1, 1, 1}, precision)) == 1);
}

TEST("lower precision: M is symmetric to its rounding, and positive") {
  NOTE(fresh::said());
  fresh::Random random(875);
  for (int ranks : {1, 3}) {
    const Extents grid{12, 10, 21};
    const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 50);
    const Partition partition = partition_in_layers(A.n, grid_layers(A.view(), grid, ranks, 0), ranks);
    const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
    const auto in_double = applied(A, given, std::make_shared<GridLevels>(A.view(), grid, partition, 0), Cycle::v);
    for (auto precision : {CyclePrecision::single, CyclePrecision::half}) {
      const auto found = applied(A, given, std::make_shared<GridLevels>(A.view(), grid, partition, 0, precision), Cycle::v);
      const double size = std::sqrt(dot(found[0], found[0]) * dot(given[1], given[1]));
      const double off = std::abs(dot(found[0], given[1]) - dot(found[1], given[0])) / size;
      double apart = 0;
      for (std::size_t i = 0; i < found[0].size(); i++) apart += std::pow(found[0][i] - in_double[0][i], 2);
      apart = std::sqrt(apart / dot(in_double[0], in_double[0]));
      NOTE(ranks, " ranks: asymmetry ", off, ", distance from double ", apart);
      CHECK(off <= 1e-6);
      CHECK(apart > 1e-9);
      CHECK(apart <= (precision == CyclePrecision::half ? 3e-3 : 1e-5));
      CHECK(dot(found[0], given[0]) > 0);
    }
  }
}

TEST("lower precision: new values are taken, of another size, too") {
  NOTE(fresh::said());
  fresh::Random random(876);
  const Extents grid{10, 9, 16};
  const CsrMatrix first = poisson(grid[0], grid[1], grid[2], 7, 10),
                  second = times(1e-35, poisson(grid[0], grid[1], grid[2], 7, 50));
  const auto b = random.normals(first.n);
  for (const char* precision : lower)
    for (int ranks : {1, 2}) check_new_values(first, second, b, with(grid, precision, ranks));
}

TEST("lower precision: by any storage of A, and memory is foretold") {
  NOTE(fresh::said());
  fresh::Random random(877);
  for (const Extents& grid : {Extents{16, 12, 20}, Extents{7, 5, 15}, Extents{3, 3, 9}})
    for (const char* storage : {"csr", "dia", "symdia", "constant"})
      for (int ranks : {1, 2, 3}) {
        if (ranks > grid[2]) continue;
        const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 1);
        const auto b = random.normals(A.n);
        for (const char* precision : lower)
          for (const char* cycle : {"v", "w"}) {
            NOTE(shown(grid), ", ", storage, ", ", ranks, " ranks, ", precision, ", ", cycle);
            Options o = with(grid, precision, ranks);
            o.storage = storage, o.cycle = cycle;
            iterations_of(A, b, o);
            CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
          }
      }
}

TEST("lower precision: halos of a cycle are half as many bytes, and the clock of a machine says so") {
  fresh::Random random(878);
  const Extents grid{32, 32, 32};
  const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 1);
  const auto b = random.normals(A.n);
  auto run = [&](const std::string& precision) {
    Options o = with(grid, precision, 2, "fcg");
    o.engine = "model";
    o.rtol = 1e-15, o.maxiter = 4;
    return solve(A.view(), b, o).report;
  };
  const Report full = run("double"), single = run("single"), half = run("half");
  NOTE("bytes sent ", full.ledger.bytes_sent, ", ", single.ledger.bytes_sent, "; moved ", full.ledger.memory_bytes, ", ",
       single.ledger.memory_bytes, ", ", half.ledger.memory_bytes);
  CHECK(double(single.ledger.bytes_sent) < 0.7 * double(full.ledger.bytes_sent));  // those of cg itself are double
  CHECK(half.ledger.bytes_sent == single.ledger.bytes_sent);
  CHECK(single.ledger.memory_bytes < 0.8 * full.ledger.memory_bytes);
  CHECK(half.ledger.memory_bytes < 0.95 * single.ledger.memory_bytes);
}

TEST("lower precision: what it is not for is refused, and other preconditioners do not ask") {
  const CsrMatrix A = poisson(8, 8, 8, 7, 1);
  const std::vector<double> b(std::size_t(A.n), 1.0);
  Options o = with({8, 8, 8}, "single");
  o.precond = "amg";
  CHECK_THROWS(Solver(A.view(), o), Error,
               "cycle_precision 'single' is for precond mg, whose levels are grids, and precond amg");
  o.precond = "jacobi";
  CHECK(solve(A.view(), b, o).report.status == Status::converged);
}
