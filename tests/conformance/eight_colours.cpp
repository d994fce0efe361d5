// Smoother sor of precond mg for 27 points: a sweep is Gauss and Seidel's in the order of eight colours, iterations are few, on
// cubes and on stretched bricks, of any sizes, on any ranks; M symmetric and positive; the bits of the model; halos of two
// colours; what cannot be is refused.
#include <cmath>

#include "brick_boxes.hpp"
#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/eight_colour_smoother.hpp"
#include "sordino/precond/grid_levels.hpp"

using namespace brick_boxes;
using namespace cycles;
using namespace problems;

namespace {

using Edges = std::array<double, 3>;

Options with(const Extents& g, int ranks, bool is_closed = false) {
  Options o = options("cg", "host", ranks);
  o.precond = "mg", o.smoother = "sor";
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  if (is_closed) o.nullspace = "constant";
  return o;
}

/// Iterations of a solve that is checked, whose bits are those of the model, and whose memory is foretold.
int checked_iterations(const CsrMatrix& A, const std::vector<double>& b, const Options& o) {
  Solver solver(A.view(), o);
  const Solved first = problems::solve(solver, b);
  CHECK(first.report.status == Status::converged);
  CHECK(relative_residual(A, first.x, b) <= o.rtol * (1 + 1e-6));
  CHECK(estimate_memory({.A = A.view()}, o, o.ranks, false) == solver.memory());
  for (int seed : {0, 3}) {
    Options model = o;
    model.engine = "model", model.seed = seed;
    CHECK(problems::solve(A.view(), b, model).x == first.x);
  }
  return first.report.iterations;
}

std::shared_ptr<GridLevels> levels_of(const CsrMatrix& A, const Extents& nodes, int ranks, i64 alone = 0) {
  const Partition first = partition_in_layers(A.n, grid_layers(A.view(), nodes, ranks, alone), ranks);
  return std::make_shared<GridLevels>(A.view(), nodes, first, alone, CyclePrecision::full, Smoothing::sor);
}

std::function<double()> drawn(fresh::Random& random, double most) {
  return [&random, most] { return std::exp(random.real(0, std::log(most))); };
}

/// One sweep on x, in the order of colours or in the reverse one.
void sweep(const CsrView& A, const Extents& nodes, const std::vector<double>& b, bool forth, std::vector<double>& x) {
  const int last = last_direction(nodes);
  for (int nth = 0; nth < 8; nth++)
    for (i64 i = 0; i < A.n; i++) {
      const Extents at = place(nodes, i);
      i64 colour = 0, bit = 1;
      for (int d = 0; d < 3; d++) {
        colour += at[std::size_t(d)] % 2 * (d == last ? 4 : bit);
        if (d != last) bit *= 2;
      }
      if (colour != (forth ? nth : 7 - nth)) continue;
      double left = b[std::size_t(i)], diagonal = 0;
      for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
        left -= A.values[k] * x[std::size_t(A.indices[k])];
        if (A.indices[k] == i) diagonal = A.values[k];
      }
      x[std::size_t(i)] += left / diagonal;
    }
}

/// What the smoother makes of b, what that leaves, what a sweep behind a correction makes of x, and the residual of x.
std::array<std::vector<double>, 4> smoothed(const CsrMatrix& A, const GridLevels& levels, const std::vector<double>& b,
                                            const std::vector<double>& given) {
  const Partition& rows = levels.partition(0);
  std::array<std::vector<double>, 4> found;
  for (auto& v : found) v.resize(std::size_t(A.n));
  host::HostEngine engine({.ranks = rows.ranks()});
  engine.run([&](Rank& rank) {
    const CsrOperator matrix(rank, A.view(), rows);
    const auto smoother = levels.smoother(rank, 0, matrix, Vec{});
    const Vec x = smoother->operand(rank, "x"), y = smoother->operand(rank, "y"), z = smoother->operand(rank, "z"),
              start = rank.vector("start", matrix.space()), in = rank.vector("b", matrix.space()),
              left = rank.vector("left", matrix.space()), to = rank.vector("to", matrix.space()),
              apart = rank.vector("residual", matrix.space());
    Recorded body = rank.record([&] {
      smoother->apply_and_leave(rank, in, x, left);
      rank.copy(start, y);
      smoother->improve(rank, in, y, to);
      rank.copy(start, z);
      smoother->leave(rank, in, z, apart);
    });
    const i64 first = rows.first_row(rank.id());
    rank.write(in, b.data() + first), rank.write(start, given.data() + first);
    rank.replay(body);
    const Vec all[] = {x, left, to, apart};
    for (std::size_t k = 0; k < 4; k++) rank.read(all[k], found[k].data() + first);
  });
  return found;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double apart = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); i++)
    apart = std::max(apart, std::abs(a[i] - b[i])), most = std::max(most, std::abs(b[i]));
  return apart / most;
}

std::vector<double> residual(const CsrView& A, const std::vector<double>& b, const std::vector<double>& x) {
  std::vector<double> left = b;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) left[std::size_t(i)] -= A.values[k] * x[std::size_t(A.indices[k])];
  return left;
}

}  // namespace

TEST("eight colours: sweeps are those of Gauss and Seidel, there and back, with the same bits on any ranks") {
  NOTE(fresh::said());
  fresh::Random random(881);
  for (const Extents& nodes : {Extents{random.whole(3, 12), random.whole(3, 12), 21}, Extents{12, 8, 22}, Extents{9, 17, 1}})
    for (bool wraps : {false, true}) {
      Bricks box{.nodes = nodes, .edges = {1, 2, 3}, .is_open = nodes[2] > 1, .coefficient = drawn(random, 10)};
      if (nodes[2] == 1) box.is_open = true;
      for (std::size_t d = 0; d < 3; d++) box.wraps[d] = wraps && nodes[d] > 3 && nodes[d] % 2 == 0;
      const CsrMatrix A = matrix_of(box);
      const auto b = random.normals(A.n), given = random.normals(A.n);
      std::vector<double> x(b.size(), 0.0), y = given;
      sweep(A.view(), nodes, b, true, x);
      sweep(A.view(), nodes, b, false, y);
      std::array<std::vector<double>, 4> alone;
      for (int ranks = 1; ranks <= 7; ranks++) {
        NOTE(sordino::shown(nodes), wraps ? ", periodic, " : ", ", ranks, " ranks");
        const auto levels = levels_of(A, nodes, ranks);
        REQUIRE(levels->count() > 1);
        REQUIRE(levels->level(0).colours == 8);
        const auto found = smoothed(A, *levels, b, given);
        CHECK(difference(found[0], x) <= 1e-13);
        CHECK(difference(found[1], residual(A.view(), b, x)) <= 1e-12);
        CHECK(difference(found[2], y) <= 1e-13);
        CHECK(difference(found[3], residual(A.view(), b, given)) <= 1e-13);
        if (ranks == 1) alone = found;
        CHECK(found == alone);
      }
    }
}

TEST("eight colours: few iterations, whatever the size, on cubes and on stretched bricks, on any ranks") {
  NOTE(fresh::said());
  fresh::Random random(882);
  for (const Edges& edges : {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{10, 1, 1}, Edges{1, 10, 10}, Edges{1, 1, 100}})
    for (const Extents& nodes : {Extents{16, 16, 16}, Extents{31, 17, 29}}) {
      const CsrMatrix A = matrix_of({.nodes = nodes, .edges = edges, .coefficient = drawn(random, 10)});
      const auto b = random.normals(A.n);
      int alone = 0;
      for (int ranks : {1, 2, 3, 7}) {
        const int found = ranks < 4 ? checked_iterations(A, b, with(nodes, ranks)) : iterations(A, b, with(nodes, ranks));
        NOTE(sordino::shown(nodes), " of ", edges[0], " x ", edges[1], " x ", edges[2], ", ", ranks, " ranks: ", found);
        CHECK(found <= 18);
        if (ranks == 1) alone = found;
        CHECK(std::abs(found - alone) <= 3);  // ranks of few layers pair other directions first
      }
    }
}

TEST("eight colours: closed and periodic boxes, obstacles, and awkward grids") {
  NOTE(fresh::said());
  fresh::Random random(883);
  for (const Extents& nodes : {Extents{98, 2, 2}, Extents{13, 11, 17}, Extents{4, 40, 23}, Extents{12, 10, 24}})
    for (int ranks : {1, 2, 3}) {
      Bricks box{.nodes = nodes, .is_open = false, .coefficient = drawn(random, 10)};
      for (std::size_t d = 0; d < 3; d++) box.wraps[d] = nodes[d] > 2 && nodes[d] % 2 == 0;
      const CsrMatrix closed = matrix_of(box);
      const int found =
          checked_iterations(closed, cell_boxes::without_mean(random.normals(closed.n)), with(nodes, ranks, true));
      const auto some = [&] { return random.chance(0.1) ? 0.0 : 1.0; };
      const CsrMatrix solid = matrix_of({.nodes = nodes, .coefficient = some});
      const int around = checked_iterations(solid, random.normals(solid.n), with(nodes, ranks));
      const CsrMatrix held = with_solids(random, poisson(nodes[0], nodes[1], nodes[2], 27, 100), 0.1);
      const int beside = checked_iterations(held, random.normals(held.n), with(nodes, ranks));
      NOTE(sordino::shown(nodes), ", ", ranks, " ranks: closed ", found, ", obstacles ", around, ", held ", beside);
      CHECK(found <= 20);
      CHECK(around <= 20);
      CHECK(beside <= 20);
    }
}

TEST("eight colours: M is symmetric and positive, on levels of fewer ranks, too") {
  NOTE(fresh::said());
  fresh::Random random(884);
  for (int ranks : {1, 3})
    for (i64 alone : {0, 300})
      for (const Edges& edges : {Edges{1, 1, 1}, Edges{1, 1, 10}, Edges{10, 1, 1}}) {
        NOTE(ranks, " ranks, ", alone, " rows on one, ", edges[0], " x ", edges[1], " x ", edges[2]);
        const Extents nodes{12, 9, 21};
        const CsrMatrix A = matrix_of({.nodes = nodes, .edges = edges, .coefficient = drawn(random, 100)});
        const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
        for (Cycle cycle : {Cycle::v, Cycle::w})
          CHECK(is_symmetric_and_positive(given, applied(A, given, levels_of(A, nodes, ranks, alone), cycle)));
      }
}

TEST("eight colours: cycles F and W, every method that takes any preconditioner, and new values") {
  NOTE(fresh::said());
  fresh::Random random(885);
  const Extents nodes{9, 8, 12};
  const CsrMatrix A = matrix_of({.nodes = nodes, .coefficient = drawn(random, 10)}),
                  other = matrix_of({.nodes = nodes, .coefficient = drawn(random, 10)});
  const auto b = random.normals(A.n);
  for (int ranks : {1, 3}) {
    check_new_values(A, other, b, with(nodes, ranks));
    for (const char* cycle : {"f", "w"}) {
      Options o = with(nodes, ranks);
      o.solver = "fcg", o.cycle = cycle;
      CHECK(checked_iterations(A, b, o) <= 14);
    }
    for (auto& m : methods()) {
      if (m.complex == Factors::of_numbers || !m.any_preconditioner) continue;
      NOTE(m.name, ", ", ranks, " ranks");
      Options o = with(nodes, ranks);
      o.solver = m.name;
      CHECK(problems::solve(A.view(), b, o).report.status == Status::converged);
    }
  }
}

TEST("eight colours: six halos of a level and a V-cycle, as of two colours") {
  const Extents nodes{16, 16, 32};  // of which ranks pair layers on all levels
  const CsrMatrix A = poisson(16, 16, 32, 27, 1);
  const auto levels = levels_of(A, nodes, 2);
  std::size_t pushes = 0;
  host::HostEngine engine({.ranks = 2});
  engine.run([&](Rank& rank) {
    const CsrOperator matrix(rank, A.view(), levels->partition(0));
    const Multigrid M(rank, matrix, levels, Cycle::v);
    const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
    const Recorded body = rank.record([&] { M.apply(rank, r, z); });
    if (rank.id() > 0) return;
    for (const Command& c : body.recording().commands) pushes += c.pushes.size();
  });
  CHECK(pushes == std::size_t(6 * (levels->count() - 1) + 1));
}

TEST("eight colours: a periodic direction of odd many cells is refused") {
  const Extents nodes{8, 7, 8};
  const CsrMatrix A = matrix_of({.nodes = nodes, .is_open = false, .wraps = {false, true, false}});
  CHECK_THROWS(
      Solver(A.view(), with(nodes, 1, true)), Error,
      "smoother sor is for cells of two colours, as with 7 points, or of eight, as with 27, and on a grid of 8 x 7 x 8 "
      "cells 0 and 48, which are coupled, are not kept apart by them: use smoother block-ilu or chebyshev");
}

TEST("eight colours: a periodic direction of odd many cells is refused where its faces are not stored, too") {
  const Extents nodes{8, 7, 8};
  const CsrMatrix all = matrix_of({.nodes = nodes, .wraps = {false, true, false}});
  CsrMatrix A;
  A.n = all.n, A.indptr = {0};
  for (i64 i = 0; i < all.n; i++) {
    for (i64 k = all.indptr[std::size_t(i)]; k < all.indptr[std::size_t(i) + 1]; k++)
      if (std::abs(all.values[std::size_t(k)]) > 1e-12)  // cubes are not coupled through faces
        A.indices.push_back(all.indices[std::size_t(k)]), A.values.push_back(all.values[std::size_t(k)]);
    A.indptr.push_back(i64(A.indices.size()));
  }
  REQUIRE(A.indices.size() < all.indices.size());
  CHECK_THROWS(Solver(A.view(), with(nodes, 1)), Error, "smoother sor is for cells of two colours");
}
