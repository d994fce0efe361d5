// Precond block-ilu with every method that takes more than a diagonal: what it solves, what an iteration then costs, what is
// refused.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/extents.hpp"
#include "unit/precond/textbook_ilu.hpp"

using namespace problems;

namespace {

constexpr const char* cells = "9,8,14";

Options with_tiles(const std::string& method, const std::string& engine, int ranks, const std::string& tile) {
  Options o = options(method, engine, ranks);
  o.precond = "block-ilu";
  o.tile = tile;
  o.grid = cells;
  return o;
}

int iterations_with_jacobi(const CsrMatrix& A, const std::vector<double>& b, const std::string& method) {
  Options o = options(method, "host", 1);
  o.precond = "jacobi";
  return solve(A.view(), b, o).report.iterations;
}

/// ||r|| / ||b|| of Algorithm 1 with M^-1, from x = 0 on, until it is rtol.
template <class Inverse>
std::vector<double> textbook_residuals(const CsrMatrix& A, const std::vector<double>& b, double rtol, Inverse M) {
  auto product = [](const std::vector<double>& u, const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); i++) sum += u[i] * v[i];
    return sum;
  };
  std::vector<double> r = b, z = M(r), p = z, norms;
  double rz = product(r, z);
  do {
    const auto exact = matrices::exact_product(A.view(), p).y;
    const std::vector<double> w(exact.begin(), exact.end());
    const double alpha = rz / product(w, p);
    for (std::size_t i = 0; i < r.size(); i++) r[i] -= alpha * w[i];
    z = M(r);
    const double beta = product(r, z) / rz;
    rz *= beta;
    for (std::size_t i = 0; i < r.size(); i++) p[i] = z[i] + beta * p[i];
    norms.push_back(std::sqrt(product(r, r) / product(b, b)));
  } while (norms.back() > rtol);
  return norms;
}

}  // namespace

TEST("block-ilu: cg takes the textbook's iterations, with its residuals, and what it says converged is") {
  const CsrMatrix A = poisson(9, 8, 14, 7, 100);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (std::size_t i = 0; i < b.size(); i++) b[i] += double(i * 7919 % 101) / 101;
  for (Extents tile : {Extents{4, 4, 3}, {9, 8, 2}, {3, 4, 3}}) {
    const std::string named = std::to_string(tile[0]) + "," + std::to_string(tile[1]) + "," + std::to_string(tile[2]);
    std::vector<i64> block;
    for (i64 i = 0; i < A.n; i++) block.push_back(i % 9 / tile[0] + 10 * (i / 9 % 8 / tile[1]) + 100 * (i / 72 / tile[2]));
    const auto norms =
        textbook_residuals(A, b, 1e-8, [&](const std::vector<double>& r) { return matrices::textbook_ilu(A, block, r); });
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 3})
        for (int every : {1, 5, 32}) {  // looks, of which each keeps the best x
          NOTE("tile ", named, ", ", engine, ", ", ranks, " ranks, a look every ", every);
          Options o = with_tiles("cg", engine, ranks, named);
          o.check_every = every;
          const Solved s = solve(A.view(), b, o);
          REQUIRE(s.report.status == Status::converged);
          CHECK(s.report.iterations == int(norms.size()));
          REQUIRE(s.report.history.size() == norms.size());
          for (std::size_t k = 0; k < norms.size(); k++) CHECK_NEAR(s.report.history[k], norms[k], 1e-4 * norms[k]);
          CHECK(matrices::exact_residual(A.view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-10));
        }
  }
}

TEST("block-ilu: every method that takes any preconditioner solves, in fewer iterations than with Jacobi") {
  NOTE(fresh::said());
  fresh::Random random(520);
  for (int stencil : {7, 27}) {
    CsrMatrix A = poisson(9, 8, 14, stencil, 1000);
    auto b = random.normals(A.n);
    for (auto& m : methods()) {
      if (!m.any_preconditioner) {
        CHECK_THROWS(solve(A.view(), b, with_tiles(m.name, "host", 1, "auto")), Error,
                     "takes no preconditioner but a diagonal");
        continue;
      }
      if (m.complex == Factors::of_numbers) continue;
      const int jacobi = iterations_with_jacobi(A, b, m.name);
      for (const char* tile : {"auto", "4,4,3", "9,8,2", "3,4,3"})
        for (const char* engine : {"host", "model"})
          for (int ranks : {1, 2, 3, 4}) {
            NOTE(m.name, ", ", stencil, " points, tile ", tile, ", ", engine, ", ", ranks, " ranks");
            Solved s = solve(A.view(), b, with_tiles(m.name, engine, ranks, tile));
            REQUIRE(s.report.status == Status::converged);
            CHECK(matrices::exact_residual(A.view(), b, s.x) <= 1e-8 * matrices::norm(b) * (1 + 1e-10));
            if (m.name != "cbcg") CHECK(s.report.iterations < jacobi);  // it counts whole rounds
          }
    }
  }
}

TEST("block-ilu: tiles and bits do not depend on the number of ranks, unless each rank is to have one") {
  NOTE(fresh::said());
  fresh::Random random(521);
  CsrMatrix A = poisson(9, 8, 14, 7, 30);
  auto b = random.normals(A.n);
  for (const char* method : {"cg", "gropp", "bicgstab"}) {
    NOTE(method);
    auto one = solve(A.view(), b, with_tiles(method, "host", 1, "4,8,2"));
    for (const char* engine : {"host", "model"})
      for (int ranks : {2, 3, 7}) CHECK(solve(A.view(), b, with_tiles(method, engine, ranks, "4,8,2")).x == one.x);
  }
  int few = solve(A.view(), b, with_tiles("cg", "host", 1, "auto")).report.iterations;
  CHECK(solve(A.view(), b, with_tiles("cg", "host", 1, "9,8,14")).report.iterations == few);
  CHECK(solve(A.view(), b, with_tiles("cg", "host", 7, "auto")).report.iterations > few);
}

TEST(
    "block-ilu: an iteration of cg has one halo, two sums and four commands; the model books the tiles' bytes and operations") {
  CsrMatrix A = poisson(9, 8, 14, 7, 50);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 2}) {
      NOTE(engine, ", ", ranks, " ranks");
      auto ledger = [&](int iterations) {
        Options o = with_tiles("cg", engine, ranks, "9,8,7");
        o.rtol = 1e-300;
        o.maxiter = iterations;
        o.check_every = 1000000;
        o.storage = "csr";
        o.time_commands = true;
        return solve(A.view(), b, o).report.ledger;
      };
      Ledger spent = difference(ledger(16), ledger(6));
      CHECK(spent.reductions == 10 * 2);
      CHECK(spent.reduced_values == 10 * (1 + 2));
      CHECK(spent.messages == 10 * (ranks > 1));
      CHECK(spent.commands == 10 * (1 + 2 + 1));  // a product; r and p; tiles
      const double rows = double(A.n) / ranks;
      const KernelLedger& tiles = spent.kernels.at("Block ILU");
      CHECK(tiles.bytes == 10 * 8 * rows * (2 * 3 + 5));
      CHECK(tiles.flops == 10 * rows * (4 * 3 + 5));
    }
}

TEST("block-ilu: new values are factorized; those with a pivot that is not positive are refused, and the old ones stay") {
  NOTE(fresh::said());
  fresh::Random random(522);
  CsrMatrix A = poisson(9, 8, 14, 7, 10), B = poisson(9, 8, 14, 7, 500), C = A;
  auto b = random.normals(A.n);
  for (const char* tile : {"auto", "4,4,4"}) {
    Options o = with_tiles("cg", "host", 2, tile);
    Solver solver(A.view(), o);
    solver.update_values(B.values.data());
    CHECK(solve(solver, b).x == solve(B.view(), b, o).x);
    for (i64 k = C.indptr[700]; k < C.indptr[701]; k++)
      if (C.indices[std::size_t(k)] == 700) C.values[std::size_t(k)] = 0;
    CHECK_THROWS(solver.update_values(C.values.data()), Error, "block-ilu: the pivot of row 700 is not positive");
    CHECK(solve(solver, b).x == solve(B.view(), b, o).x);
    CHECK_THROWS(Solver(C.view(), o), Error, "the pivot of row 700 is not positive");
    o.solver = "bicgstab";
    if (tile == std::string("auto")) CHECK(solve(A.view(), b, o).report.status == Status::converged);
  }
}

TEST("block-ilu: a method prepares itself with the factors, at setup as after new values") {
  NOTE(fresh::said());
  fresh::Random random(525);
  CsrMatrix A = poisson(9, 8, 14, 7, 10);
  auto b = random.normals(A.n);
  for (const char* spectrum : {"ritz", "power"})
    for (const char* engine : {"host", "model"}) {
      NOTE(spectrum, ", ", engine);
      Options o = with_tiles("cbcg", engine, 2, "4,4,4");
      o.spectrum = spectrum;
      Solver solver(A.view(), o);
      auto at_setup = solve(solver, b);
      solver.update_values(A.values.data());
      auto later = solve(solver, b);
      CHECK(at_setup.report.history == later.report.history);
      CHECK(at_setup.x == later.x);
    }
}

TEST("block-ilu: what has no tiles is refused with a sentence") {
  NOTE(fresh::said());
  fresh::Random random(523);
  CsrMatrix A = poisson(9, 8, 14, 7, 1), scattered = matrices::spd(random, 400, 3, 400), complex = A;
  std::vector<double> b(std::size_t(A.n), 1.0);
  auto refused = [&](const CsrMatrix& matrix, auto change, const char* sentence) {
    Options o = with_tiles("cg", "host", 2, "4,4,4");
    change(o);
    std::vector<double> rhs(std::size_t(matrix.n * matrix.words), 1.0);
    CHECK_THROWS(solve(matrix.view(), rhs, o), Error, sentence);
  };
  complex.words = 2;
  complex.values.clear();
  for (double v : A.values) complex.values.insert(complex.values.end(), {v, 0.0});
  refused(A, [](Options& o) { o.tile = "4,4,15"; }, "tile 4 x 4 x 15 is larger than 9 x 8 x 13 cells");
  refused(A, [](Options& o) { o.tile = "0,4,4"; }, "tile is one to three numbers from 1 on");
  refused(A, [](Options& o) { o.grid = "9,8,15"; }, "does not have as many cells");
  refused(A, [](Options& o) { o.grid = "9x8x14"; }, "grid is one to three numbers from 1 on");
  refused(A, [](Options& o) { o.partition = "metis"; }, "changes the order of the rows");
  System of_two{.A = A.view()};  // a rank of two processes, whose rows METIS has ordered
  of_two.cuts = {0, 500, A.n};
  Options alone = with_tiles("cg", "host", 1, "4,4,4");
  alone.partition = "metis";
  CHECK_THROWS(Solver(of_two, alone), Error, "changes the order of the rows");
  refused(A, [](Options& o) { o.tile = "auto", o.deterministic = "on"; }, "tile 'auto' depends on it");
  refused(scattered, [](Options& o) { o.grid = o.tile = "400"; }, "at most 27 diagonals");
  refused(complex, [](Options&) {}, "precond block-ilu is for real matrices");
}

TEST("block-ilu: negative pivots are refused where M must be definite, and only there") {
  NOTE(fresh::said());
  fresh::Random random(524);
  CsrMatrix A = poisson(9, 8, 14, 7, 10);
  auto b = random.normals(A.n);
  for (double& value : A.values) value = -value;
  for (const char* tile : {"1,1,1", "3,4,2"}) {
    NOTE("tile ", tile);
    CHECK(solve(A.view(), b, with_tiles("bicgstab", "host", 2, tile)).report.status == Status::converged);
    CHECK_THROWS(solve(A.view(), b, with_tiles("cg", "host", 2, tile)), Error, "the pivot of row 0 is not positive");
  }
}
