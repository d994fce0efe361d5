// Partition boxes: every method and preconditioner solves on ranks that own boxes of a grid, by its diagonals and by rows, with
// the same bits on host and model; what cannot have another order of rows is refused.
#include "sordino/linalg/boxes.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "unit/linalg/reordered.hpp"

using namespace problems;

namespace {

/// A grid's matrix in the order of so many boxes.
struct InBoxes {
  InBoxes(const CsrMatrix& matrix, const std::string& grid, const std::string& boxes, int ranks)
      : order(order_in_boxes(matrix.view(), choose_boxes(matrix.n, grid, boxes, ranks))),
        A(matrices::reordered(matrix, order.cells)) {}

  System system() const {
    System s{.A = A.view()};
    s.cuts = order.cuts;
    s.cells = order.cells.data();
    return s;
  }

  BoxOrder order;
  CsrMatrix A;
};

Options in_boxes(const std::string& method, const std::string& precond, const std::string& engine, int ranks,
                 const std::string& grid = "", const std::string& boxes = "auto") {
  Options o = options(method, engine, ranks);
  o.partition = "boxes";
  o.precond = precond;
  o.grid = grid;
  o.boxes = boxes;
  return o;
}

bool takes(const MethodEntry& m, const std::string& precond) {
  if (!gets_on(m, precond)) return false;
  return precond == "chebyshev" || precond == "block-ilu" ? m.any_preconditioner : precond != "sqrt-jacobi" || m.scalable;
}

struct Shape {
  const char* boxes;
  int ranks;
  const char *storage, *taken;
};
constexpr Shape shapes[] = {{"1,2,3", 6, "auto", "dia"}, {"auto", 7, "csr", "csr"}, {"2,2,2", 8, "symdia", "symdia"}};

void check_solves(const MethodEntry& m, const std::string& precond, const CsrMatrix& A, const std::vector<double>& b) {
  for (auto& [boxes, ranks, storage, taken] : shapes) {
    const InBoxes p(A, "9,7,8", boxes, ranks);
    Solved reference;
    for (const char* engine : {"host", "model"}) {
      Options o = in_boxes(m.name, precond, engine, ranks, "9,7,8", boxes);
      o.storage = storage;
      NOTE(m.name, ", ", precond, ", boxes ", boxes, ", engine ", engine);
      Solver solver(p.system(), o);
      Solved s = solve(solver, matrices::into(p.order.cells, b));
      CHECK(s.report.status == Status::converged);
      const auto x = matrices::back(p.order.cells, s.x);
      CHECK(matrices::exact_residual(A.view(), b, x) <= o.rtol * matrices::norm(b) * (1 + 1e-12) + rounding(A.view(), x, b));
      CHECK(solver.storage() == taken);
      if (reference.x.empty()) reference = s;
      CHECK(same_bits(s.x, reference.x));
      CHECK(same_bits(s.report.history, reference.report.history));
      CHECK(s.report.ledger.same_counts(reference.report.ledger));
    }
  }
}

int added = [] {
  for (const MethodEntry& m : methods())
    for (const char* precond : {"none", "jacobi", "chebyshev", "sqrt-jacobi", "block-ilu"})
      if (takes(m, precond))
        check::add(m.name + " with precond " + precond + " solves in boxes, the same bits on host and model", __FILE__,
                   [&m, precond] {
                     NOTE(fresh::said());
                     fresh::Random random(612);
                     for (int stencil : {7, 27}) check_solves(m, precond, poisson(9, 7, 8, stencil, 10), random.normals(504));
                   });
  return 0;
}();

}  // namespace

TEST("boxes take as many iterations as slabs, to rounding") {
  NOTE(fresh::said());
  fresh::Random random(613);
  const CsrMatrix A = poisson(13, 11, 12, 7, 10);
  const auto b = random.normals(A.n);
  const InBoxes p(A, "13,11,12", "3,1,2", 6);
  Options slabs = options("cg", "host", 6);
  slabs.precond = "jacobi";
  const Solved wanted = solve(A.view(), b, slabs);
  Solver solver(p.system(), in_boxes("cg", "jacobi", "host", 6));
  const Solved found = solve(solver, matrices::into(p.order.cells, b));
  CHECK(std::abs(found.report.iterations - wanted.report.iterations) <= 1);
  const auto x = matrices::back(p.order.cells, found.x);
  double error = 0;
  for (std::size_t i = 0; i < x.size(); i++) error = std::max(error, std::abs(x[i] - wanted.x[i]));
  CHECK(error < 1e-5 * matrices::norm(wanted.x));
}

TEST("in boxes a solve has the same bits by each kind of diagonals, and takes new values") {
  NOTE(fresh::said());
  fresh::Random random(614);
  const CsrMatrix A = poisson(13, 11, 12, 7, 1);
  const auto b = random.normals(A.n);
  const InBoxes p(A, "13,11,12", "2,1,3", 6);
  std::vector<double> larger = p.A.values;
  for (double& v : larger) v *= 4;
  for (const char* precond : {"jacobi", "sqrt-jacobi", "block-ilu"}) {
    std::vector<Solved> runs;
    for (const char* storage : {"dia", "symdia", "constant"}) {
      NOTE(precond, ", ", storage);
      Options o = in_boxes("cg", precond, "host", 6, "13,11,12", "2,1,3");
      o.storage = storage;
      if (o.precond == "block-ilu") o.tile = "6,4,2";
      Solver solver(p.system(), o);
      CHECK(solver.storage() == storage);
      CHECK(solver.memory() == estimate_memory(p.system(), o, 6, false));
      runs.push_back(solve(solver, matrices::into(p.order.cells, b)));
      CHECK(same_bits(runs.back().x, runs.front().x));
      CHECK(same_bits(runs.back().report.history, runs.front().report.history));
      solver.update_values(larger.data());
      Solved quarter = solve(solver, matrices::into(p.order.cells, b));
      for (double& x : quarter.x) x *= 4;
      CHECK(same_bits(quarter.x, runs.front().x));
    }
  }
}

TEST("what boxes cannot have is refused with a sentence") {
  const CsrMatrix A = poisson(9, 7, 8, 7, 1);
  const InBoxes p(A, "9,7,8", "auto", 2);
  auto refused = [&](auto change, const char* sentence, bool with_cells = true) {
    Options o = in_boxes("cg", "jacobi", "host", 2);
    change(o);
    System s = p.system();
    if (!with_cells) s.cells = nullptr;
    CHECK_THROWS(Solver(s, o), Error, sentence);
  };
  refused([](Options& o) { o.storage = "dia"; }, "storage by diagonals is for matrices with at most 27 of them", false);
  refused([](Options& o) { o.precond = "block-ilu"; }, "partition 'boxes' changes the order of the rows", false);
  refused([](Options& o) { o.deterministic = "on"; }, "partition 'boxes' has another order of rows on each");
  refused([](Options& o) { o.boxes = "2,0"; }, "boxes is one to three numbers from 1 on");
  for (auto [cell, sentence] : {std::pair<i64, const char*>{p.order.cells[3], "row 7 is in cell"},
                                {-1, "row 7 is in cell -1, and the grid has 504"},
                                {504, "row 7 is in cell 504, and the grid has 504"}}) {
    std::vector<i64> cells = p.order.cells;
    cells[7] = cell;
    System s = p.system();
    s.cells = cells.data();
    CHECK_THROWS(Solver(s, in_boxes("cg", "jacobi", "host", 2)), Error, sentence);
  }
  CHECK_THROWS(Solver(A.view(), in_boxes("cg", "jacobi", "host", 2)), Error, "partition 'boxes' is done by the Python package");
  Solver alone(A.view(), in_boxes("cg", "jacobi", "host", 1));  // one rank has them all, in their order
  CHECK(alone.storage() == "dia");
}
