#include "sordino/api/grid_choice.hpp"

#include "sordino/api/levels_choice.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/level_ranks.hpp"

namespace sordino {
namespace {

/// Of all matrices of grids, so that a tile's are few.
void check_tiles(const System& s, const Options& o) {
  if (o.deterministic == "on" && o.tile == "auto" && o.ranks != 1)
    bad_argument("deterministic 'on' keeps the bits on any number of ranks, and tile 'auto' depends on it: give a tile");
  if (find_diagonals(s.A, s.cells).offsets.empty())
    bad_argument("precond block-ilu is for matrices of at most " + std::to_string(most_diagonals) +
                 " diagonals, as grids have, and this one has more: use jacobi");
}

void require_one_rank(const Options& o, const std::string& what) {
  if (o.deterministic == "on" && o.ranks != 1)
    bad_argument("deterministic 'on' keeps the bits on any number of ranks, and the levels of " + what +
                 " depend on it: use one rank, or block-ilu with a tile");
}

/// M in lower precision is rounded anew in each application: methods that add up what M makes of their steps never find out how
/// far that is off M^-1 r.
bool adds_up_preconditioned(const MethodEntry& m) { return m.name == "gropp" || m.name == "prcg"; }

void check_levels(const Options& o, const Choice& c) {
  if (o.grid.empty()) bad_argument("precond mg coarsens a grid: give its cells in x, y and z, as grid '64,64,64'");
  require_one_rank(o, "precond mg");
  if (precision_of(o.cycle_precision) != CyclePrecision::full && smoothing_of(o.smoother) != Smoothing::chebyshev)
    throw Error(Errc::unsupported, "smoother '" + o.smoother + "' computes in double, and cycle_precision is '" +
                                       o.cycle_precision + "': use smoother chebyshev, or cycle_precision double");
  if (precision_of(o.cycle_precision) != CyclePrecision::full && adds_up_preconditioned(*c.method))
    throw Error(Errc::unsupported, "solver " + c.method->name +
                                       " follows M^-1 r by a recurrence, in which the rounding of cycle_precision '" +
                                       o.cycle_precision + "' adds up: use solver cg or fcg, or cycle_precision double");
}

void check_aggregates(const System& s, const Options& o) {
  require_one_rank(o, "precond amg");
  require_usual_cycle(o, "precond amg");
  require_positive_diagonal(s.A, "precond amg");
}

void check_hierarchy(const System& s, const Options& o) {
  if (!s.has_entries())
    bad_argument("a hierarchy of multigrid needs the entries of the matrix, which is " + std::string(s.stands_as()));
  if (s.A.is_complex()) throw Error(Errc::unsupported, "a hierarchy of multigrid is for real matrices: use jacobi or none");
  require_one_rank(o, "a hierarchy");
  require_usual_cycle(o, "a hierarchy");
  validate(s.A, *s.hierarchy);
}

/// Whether a command takes longer to launch than some messages of a CPU's.
bool is_of_gpus(const Options& o, bool device, const std::optional<Machine>& machine) {
  constexpr double long_launch = 1e-6;
  return device || (o.engine == "model" && machine && machine->launch_s >= long_launch);
}

Tiling tiling_of(const System& s, const Options& o, const Choice& c, int ranks, bool device) {
  if (c.preconditioner != "block-ilu") return {};
  if (s.cells) return choose_tiling(choose_boxes(s.A.n, o.grid, o.boxes, ranks), s.cells, o.tile, device);
  return choose_tiling(s.A.n, o.grid, o.tile, ranks, device);
}

}  // namespace

void require_usual_cycle(const Options& o, const std::string& what) {
  if (precision_of(o.cycle_precision) != CyclePrecision::full)
    throw Error(Errc::unsupported, "cycle_precision '" + o.cycle_precision +
                                       "' is for precond mg, whose levels are grids, and " + what +
                                       " computes in double: use cycle_precision double");
  if (smoothing_of(o.smoother) != Smoothing::chebyshev)
    throw Error(Errc::unsupported, "smoother '" + o.smoother + "' is for precond mg, whose levels are grids, and " + what +
                                       " is smoothed by polynomials: use smoother chebyshev");
}

i64 level_rows_of(const Options& o, bool of_gpus) {
  return o.level_rows.value_or(of_gpus ? level_rows_of_gpus : level_rows_of_cpus);
}

void check_grid(const System& s, const Options& o, const Choice& c) {
  if (c.preconditioner == "block-ilu") check_tiles(s, o);
  if (c.preconditioner == "mg") check_levels(o, c);
  if (c.preconditioner == "amg") check_aggregates(s, o);
  if (s.hierarchy) check_hierarchy(s, o);
}

void settle_grid(Choice& c, const System& s, const Options& o, int ranks, bool device, const std::optional<Machine>& machine,
                 const std::vector<int>& gpus) {
  c.tiling = tiling_of(s, o, c, ranks, device);
  if (s.hierarchy) {
    Range range("deal out the hierarchy");
    c.levels = std::make_shared<AlgebraicLevels>(s.A, *s.hierarchy, partition_of(s, c, ranks));
  }
  if (c.preconditioner == "amg") {
    Range range("aggregate the rows");
    c.levels = std::make_shared<AlgebraicLevels>(s.A, partition_of(s, c, ranks), gpus.front());
  }
  const i64 alone = level_rows_of(o, is_of_gpus(o, device, machine));
  if (o.precond == "mg") set_levels(c, s, o, ranks, alone, gpus);
  settle_levels(c, s, o, ranks, device, alone);
}

}  // namespace sordino
