#include "sordino/api/levels_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "sordino/api/grid_system.hpp"
#include "sordino/api/singular.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/precond/row_facts.hpp"

namespace sordino {
namespace {

// By bench/records/2026-11-27_auto_since_2_cores.jsonl.
constexpr double of_bound = 0.6;      // of what the bound of conjugate gradients says, boxes take
constexpr double of_setup = 30;       // iterations of Jacobi that last as long as the setup of mg, beyond theirs
constexpr double of_cycle = 5.5;      // and as an iteration of cg with mg
constexpr double cycles_of_1e8 = 12;  // iterations with mg to 1e-8,
constexpr double cycles_mixed = 36;   // and beside Jacobi's, of which too few are foretold there, where pairs mix phases:
constexpr double mixed = 1.0 / 3;     // where this part of the rows is coupled a hundredfold on one side of a direction
constexpr double largest = 2;         // eigenvalue of diag(A)^-1 A

double digits(double rtol) { return std::log(2 / std::min(rtol, 1.0)); }

/// [cells] sin(pi (i + 1) / (cells + 1)).
std::vector<double> first_sine(i64 cells) {
  std::vector<double> v(static_cast<std::size_t>(cells));
  for (i64 i = 0; i < cells; i++) v[std::size_t(i)] = std::sin(std::numbers::pi * double(i + 1) / double(cells + 1));
  return v;
}

/// Vectors that are products of lines: in each direction the first sine, or 1, which suits closed ends.
constexpr std::size_t vectors = 8;
using OfVectors = std::array<double, vectors>;

struct Quotients {
  OfVectors above{}, below{};   // (v, A v) and (v, D v)
  i64 coupled = 0, uneven = 0;  // rows, and of them those that are coupled a hundredfold on one side of a direction
};

/// Values of the vectors, cell by cell.
class Waves {
 public:
  explicit Waves(const Extents& grid) : grid_(grid) {
    for (std::size_t d = 0; d < 3; d++) sines_[d] = first_sine(grid[d]);
  }
  OfVectors at(i64 row) const {
    const i64 line = row / grid_[0];
    const double sines[] = {sines_[0][std::size_t(row % grid_[0])], sines_[1][std::size_t(line % grid_[1])],
                            sines_[2][std::size_t(line / grid_[1])]};
    OfVectors v;
    for (std::size_t k = 0; k < vectors; k++) v[k] = (k & 1 ? 1 : sines[0]) * (k & 2 ? 1 : sines[1]) * (k & 4 ? 1 : sines[2]);
    return v;
  }

 private:
  const Extents& grid_;
  std::array<std::vector<double>, 3> sines_;
};

/// A row's couplings through faces, before and behind it in each direction.
struct FaceCouplings {
  double sides[3][2] = {};

  void add(i64 by, const Extents& grid, double entry) {
    const i64 strides[] = {1, grid[0], grid[0] * grid[1]};
    for (std::size_t d = 0; d < 3; d++)
      if (grid[d] > 1 && std::abs(by) == strides[d]) sides[d][by > 0] = std::abs(entry);
  }
  bool are_uneven() const {
    return std::any_of(std::begin(sides), std::end(sides), [](const double (&side)[2]) {
      const double least = std::min(side[0], side[1]);
      return least > 0 && std::max(side[0], side[1]) > steep_ratio * least;
    });
  }
};

/// The rows of a line of cells in x; what is coupled to nothing, as a solid cell, has no part in it.
Quotients of_line(const CsrView& A, const Extents& grid, i64 line, const Waves& waves) {
  Quotients sum;
  for (i64 row = line * grid[0]; row < (line + 1) * grid[0]; row++) {
    OfVectors Av{};
    RowFacts facts;
    FaceCouplings faces;
    for (i64 k = A.indptr[row]; k < A.indptr[row + 1]; k++) {
      const i64 column = A.indices[k];
      facts.add(A.values[k], column == row);
      faces.add(column - row, grid, A.values[k]);
      const OfVectors v = waves.at(column);
      for (std::size_t n = 0; n < vectors; n++) Av[n] += A.values[k] * v[n];
    }
    if (!facts.couples()) continue;
    const OfVectors own = waves.at(row);
    for (std::size_t n = 0; n < vectors; n++) {
      sum.above[n] += own[n] * Av[n];
      sum.below[n] += own[n] * own[n] * facts.diagonal;
    }
    sum.coupled++;
    sum.uneven += faces.are_uneven();
  }
  return sum;
}

/// The least of (v, A v) / (v, D v), which no eigenvalue of D^-1 A is below but the least; but for vectors that A maps to zero,
/// as far as rounding tells.
double least_of(const Quotients& q) {
  constexpr double rounding = 1e-13;
  double least = HUGE_VAL;
  for (std::size_t n = 0; n < vectors; n++)
    if (q.above[n] > rounding * q.below[n]) least = std::min(least, q.above[n] / q.below[n]);
  return least;
}

/// The fields for their makers, behind what others are still to write there.
std::shared_ptr<GridSlabs> slabs_of(const GridMatrix& given, const std::vector<int>& gpus, void* stream = nullptr) {
  if (gpus.front() < 0) {
    auto here = std::make_shared<FieldsOnHost>(given, stream);
    const GridMatrix& view = here->view();
    return std::make_shared<GridSlabs>(view, gpus, std::move(here));
  }
  wait_for_fields(given, stream);
  return std::make_shared<GridSlabs>(given, gpus);
}

/// That constants are mapped to zero if they are said to be.
JudgeFacts judge_of(const System& s) {
  return [&s](const GridFacts& facts) {
    if (s.nullspace.right.count > 0) require_constant_mapped(facts.sum, facts.magnitudes);
  };
}

std::string whole(double iterations) { return std::to_string(i64(std::lround(std::min(iterations, 1e9)))); }

}  // namespace

Foretold foretold_of(const CsrView& A, const Extents& grid, double rtol) {
  const Waves waves(grid);
  const i64 lines = grid[1] * grid[2];
  std::vector<Quotients> of_lines(static_cast<std::size_t>(lines));
  for_parts(
      0, lines,
      [&](i64 begin, i64 end) {
        for (i64 l = begin; l < end; l++) of_lines[std::size_t(l)] = of_line(A, grid, l, waves);
      },
      64);
  Quotients all;
  for (const Quotients& q : of_lines) {
    for (std::size_t n = 0; n < vectors; n++) all.above[n] += q.above[n], all.below[n] += q.below[n];
    all.coupled += q.coupled, all.uneven += q.uneven;
  }
  if (all.coupled == 0) return {.jacobi = 1, .mg = of_setup};
  const bool mixes = double(all.uneven) > mixed * double(all.coupled);
  const double cycles = (mixes ? cycles_mixed : cycles_of_1e8) * digits(rtol) / digits(1e-8);
  return {of_bound * std::sqrt(largest / least_of(all)) / 2 * digits(rtol), of_setup + of_cycle * cycles};
}

void set_levels(Choice& c, const System& s, const Options& o, int ranks, i64 alone, const std::vector<int>& gpus) {
  Range range("coarsen the grid");
  if (s.grid.is_given()) {
    const auto slabs = slabs_of(s.grid, gpus);
    const std::array<double, 3> strengths = slabs->strengths();
    c.tiling = grid_layers(strengths, s.grid.cells, ranks, alone);
    c.levels =
        std::make_shared<GridLevels>(slabs, strengths, partition_in_layers(s.grid.n(), c.tiling, ranks), alone, judge_of(s));
    return;
  }
  const Extents grid = parse_grid(s.A.n, o.grid);
  c.tiling = grid_layers(s.A, grid, ranks, alone);
  c.levels = std::make_shared<GridLevels>(s.A, grid, partition_in_layers(s.A.n, c.tiling, ranks), alone,
                                          precision_of(o.cycle_precision), smoothing_of(o.smoother));
}

void update_levels(Choice& c, const System& s, const GridMatrix& fields, const std::vector<int>& gpus, void* stream) {
  Range range("coarsen the grid");
  static_cast<GridLevels&>(*c.levels).update(slabs_of(fields, gpus, stream), judge_of(s));
}

bool may_take_levels(const System& s, const Options& o, Choice& c, const std::function<bool()>& is_symmetric) {
  auto refuse = [&](const char* why) {
    c.why_preconditioner = why;
    return false;
  };
  if (o.precond != "auto") return refuse("asked for");
  if (s.brings_preconditioner() || !s.has_entries()) return false;
  if (c.preconditioner == "none") return refuse("the diagonal has a zero");
  if (o.grid.empty()) return refuse("no grid is given, of which mg would be");
  if (s.A.is_complex()) return refuse("mg is for real matrices");
  if (c.method->name != "cg") return refuse("mg is taken with cg alone unless it is asked for");
  if (o.cycle == "f") return refuse("cycle f is not symmetric, which cg needs: ask for mg, with solver fcg");
  if (smoothing_of(o.smoother) != Smoothing::chebyshev && precision_of(o.cycle_precision) != CyclePrecision::full)
    return refuse("no smoother but chebyshev computes in lower precision than double");
  if (o.partition != "blocks" || !s.cuts.empty() || s.cells) return refuse("mg is of layers of cells, and ranks own others");
  if (o.deterministic == "on" && o.ranks != 1) return refuse("the bits of mg depend on the number of ranks");
  const Extents grid = parse_extents("grid", o.grid);
  if (grid[0] * grid[1] * grid[2] != s.A.n) return refuse("the grid has not as many cells as the matrix rows");
  return is_symmetric() || refuse("the matrix is not symmetric");
}

void settle_levels(Choice& c, const System& s, const Options& o, int ranks, bool device, i64 alone) {
  if (!c.may_take_levels) return;
  c.preconditioner = "jacobi", c.tiling = {}, c.levels = nullptr;
  if (o.engine == "model") {
    c.why_preconditioner = "on a described machine nobody knows what the setup of mg takes: ask for mg";
    return;
  }
  if (device) {
    c.why_preconditioner = "the host sets up mg, which takes longer than one solve on GPUs: ask for mg where there are several";
    return;
  }
  const Foretold foretold = foretold_of(s.A, parse_grid(s.A.n, o.grid), o.rtol);
  c.why_preconditioner = "jacobi is foretold to take " + whole(foretold.jacobi) +
                         " iterations, and mg with its setup as long as " + whole(foretold.mg) + " of them";
  if (!(foretold.jacobi > foretold.mg)) return;
  try {
    set_levels(c, s, o, ranks, alone);
    c.preconditioner = "mg";
  } catch (const Error& error) {
    if (error.code() != Errc::bad_argument) throw;
    c.tiling = {}, c.levels = nullptr;
    c.why_preconditioner = error.what();
  }
}

}  // namespace sordino
