// Precond mg where coarse levels live on fewer ranks: iterations are about those of one rank, on any number of them, with as
// few layers each as there may be; who owns what; what is sent; rows that go to other ranks and come back.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cell_boxes.hpp"
#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/linalg/row_move.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_transfers.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace cell_boxes;
using namespace cycles;
using namespace problems;

namespace {

Options with(const Extents& g, int ranks, const std::string& cycle = "v", int level_rows = level_rows_of_gpus) {
  Options o = options(cycle == "f" ? "fcg" : "cg", "host", ranks);
  o.precond = "mg";
  o.cycle = cycle;
  o.level_rows = level_rows;
  o.grid = std::to_string(g[0]) + "," + std::to_string(g[1]) + "," + std::to_string(g[2]);
  return o;
}

/// Levels of a grid of cubes without its matrix.
std::vector<GridStep> steps_of(const Extents& grid, i64 depth, int ranks, i64 alone = level_rows_of_gpus) {
  Tiling layers{.grid = grid, .tile = {1, 1, depth}};
  return grid_steps({1, 1, 1}, grid, partition_in_layers(grid[0] * grid[1] * grid[2], layers, ranks), alone);
}

int owners(const GridStep& level) {
  int count = 0;
  for (std::size_t r = 0; r + 1 < level.cuts.size(); r++) count += level.cuts[r] < level.cuts[r + 1];
  return count;
}

std::vector<int> owners_of(const std::vector<GridStep>& levels) {
  std::vector<int> counts;
  for (const GridStep& level : levels) counts.push_back(owners(level));
  return counts;
}

/// To how many others a rank sends, the most of all, where levels go to other ranks.
std::size_t most_messages(const std::vector<GridStep>& levels) {
  std::size_t most = 0;
  for (std::size_t l = 0; l + 1 < levels.size(); l++) {
    const Extents& cells = levels[l + 1].cells;
    const Partition from = partition_in_cuts(cuts_below(levels[l], cells), cells),
                    to = partition_in_cuts(levels[l + 1].cuts, cells);
    for (int r = 0; r < from.ranks(); r++) {
      std::size_t others = 0;
      for (int q = 0; q < to.ranks(); q++)
        others +=
            q != r && from.rows(q) > 0 && from.first_row(q) < to.first_row(r + 1) && to.first_row(r) < from.first_row(q + 1);
      most = std::max(most, others);
    }
  }
  return most;
}

/// Of so many rows, some ranks with none.
Partition some_partition(fresh::Random& random, i64 n, int ranks) {
  std::vector<i64> cuts(static_cast<std::size_t>(ranks), 0);
  for (std::size_t r = 1; r < cuts.size(); r++) cuts[r] = random.chance(0.3) ? cuts[r - 1] : random.whole(0, n);
  std::sort(cuts.begin(), cuts.end());
  cuts.push_back(n);
  return partition_in_cuts(cuts, {n, 1, 1});
}

/// A rank's rows of 0, 1, 2, ... by one partition, moved to another one and back, added to themselves on the way.
void move_there_and_back(Rank& rank, const Partition& here, const Partition& there, std::vector<double>& found) {
  const int at_home = rank.add_space(distributed_space(here, rank.id())),
            away = rank.add_space(distributed_space(there, rank.id()));
  const RowMove out(here, there, rank.id()), back(there, here, rank.id());
  const Vec x = out.operand(rank, "x", at_home), moved = back.operand(rank, "moved", away), y = rank.vector("y", at_home);
  std::vector<double> rows(static_cast<std::size_t>(here.rows(rank.id())));
  std::iota(rows.begin(), rows.end(), double(here.first_row(rank.id())));
  rank.write(x, rows.data());
  Recorded body = rank.record([&] {
    rank.run(multigrid::Add{.x = x, .y = x, .to = x}, push(x));
    out.apply(rank, away, x, moved);
    rank.push_last(moved);
    back.apply(rank, at_home, moved, y);
  });
  rank.replay(body);
  rank.read(y, found.data() + here.first_row(rank.id()));
}

}  // namespace

TEST("rows that go to other ranks: each comes where it belongs, and back, whoever has none, on host and model") {
  NOTE(fresh::said());
  fresh::Random random(871);
  for (int trial = 0; trial < 30; trial++) {
    const i64 n = random.whole(1, 60);
    const int ranks = int(random.whole(1, 7));
    const Partition here = some_partition(random, n, ranks), there = some_partition(random, n, ranks);
    std::vector<double> expected(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < expected.size(); i++) expected[i] = 2 * double(i);
    std::vector<double> by_host(expected.size()), by_model(expected.size());
    host::HostEngine host({.ranks = ranks});
    host.run([&](Rank& rank) { move_there_and_back(rank, here, there, by_host); });
    CHECK(by_host == expected);
    model::Options described;
    described.ranks = ranks, described.seed = 3;
    model::ModelEngine model(described);
    model.run([&](Rank& rank) { move_there_and_back(rank, here, there, by_model); });
    CHECK(by_model == expected);
  }
}

TEST("fewer ranks: iterations are within one of one rank's, of V, F and W, however thin the layers") {
  NOTE(fresh::said());
  fresh::Random random(872);
  for (const Extents& grid : {Extents{32, 32, 32}, {31, 29, 37}, {16, 16, 16}, {40, 24, 17}})
    for (const char* cycle : {"v", "f", "w"}) {
      const CsrMatrix A = poisson(grid[0], grid[1], grid[2], 7, 10.0);
      const auto b = random.normals(A.n);
      const int alone = iterations(A, b, with(grid, 1, cycle));
      for (int ranks : {2, 3, 5, 8, 16})
        for (int level_rows : {0, 300, level_rows_of_gpus}) {
          if (ranks > 3 && *cycle != 'v' && level_rows == 300) continue;
          const int found = iterations(A, b, with(grid, ranks, cycle, level_rows));
          NOTE(shown(grid), ", ", cycle, ", ", ranks, " ranks, level_rows ", level_rows, ": ", found, " and ", alone);
          CHECK(found <= alone + 1);
        }
    }
}

TEST("fewer ranks: a column on 64 ranks takes the iterations that it takes on one") {
  NOTE(fresh::said());
  fresh::Random random(873);
  const Extents grid{4, 4, 4096};
  const CsrMatrix A = poisson(4, 4, 4096, 7, 1.0);
  const auto b = random.normals(A.n);
  const int alone = iterations(A, b, with(grid, 1));
  for (int level_rows : {0, level_rows_of_gpus}) {
    Options o = with(grid, 64, "v", level_rows);
    o.engine = "model";
    const int found = iterations(A, b, o);
    NOTE(found, " and ", alone, " iterations");
    CHECK(found <= alone + 1);
  }
}

TEST("fewer ranks: periodic and closed boxes, stretched cells, and a matrix whose values change") {
  NOTE(fresh::said());
  fresh::Random random(874);
  for (const Box& box : {Box{.cells = {12, 14, 18}, .wraps = {true, true, true}},
                         Box{.cells = {12, 10, 13}, .edges = {1, 1, 4}, .is_open = false, .contrast = 30},
                         Box{.cells = {9, 16, 24}, .edges = {4, 1, 1}, .wraps = {false, false, true}}}) {
    const bool closed = !box.is_open || (box.wraps[0] && box.wraps[1] && box.wraps[2]);
    const CsrMatrix A = matrix_of(box);
    const auto b = closed ? without_mean(random.normals(A.n)) : random.normals(A.n);
    Options o = with(box.cells, 1);
    if (closed) o.nullspace = "constant";
    const int alone = iterations(A, b, o);
    for (int ranks : {2, 3, 5, 8})
      for (int level_rows : {0, 200, level_rows_of_gpus}) {
        o.ranks = ranks, o.level_rows = level_rows;
        const int found = iterations(A, b, o);
        NOTE(shown(box.cells), ", ", ranks, " ranks, level_rows ", level_rows, ": ", found, " and ", alone);
        CHECK(found <= alone + 1);
      }
    Solver solver(A.view(), o);
    const Solved before = problems::solve(solver, b);
    CsrMatrix other = A;
    for (double& v : other.values) v *= 3;
    solver.update_values(other.values.data());
    CHECK(problems::solve(solver, b).x == problems::solve(other.view(), b, o).x);
    solver.update_values(A.values.data());
    CHECK(problems::solve(solver, b).x == before.x);
  }
}

TEST("fewer ranks: the same bits on host and model in any order of messages, and memory is foretold") {
  NOTE(fresh::said());
  fresh::Random random(875);
  for (const Extents& grid : {Extents{9, 8, 12}, {5, 6, 7}, {16, 16, 3}})
    for (const char* cycle : {"v", "f", "w"})
      for (int ranks : {2, 3, 5, 7})
        for (int level_rows : {0, 60, level_rows_of_gpus}) {
          if (ranks > grid[2]) continue;
          NOTE(shown(grid), ", ", cycle, ", ", ranks, " ranks, level_rows ", level_rows);
          const CsrMatrix A = with_solids(random, poisson(grid[0], grid[1], grid[2], 7, 100.0), 0.1);
          const auto b = random.normals(A.n);
          Options o = with(grid, ranks, cycle, level_rows);
          CHECK(estimate_memory({.A = A.view()}, o, ranks, false) == Solver(A.view(), o).memory());
          const Solved host = problems::solve(A.view(), b, o);
          CHECK(host.report.status == Status::converged);
          o.engine = "model";
          for (int seed : {0, 1, 2}) {
            o.seed = seed;
            CHECK(problems::solve(A.view(), b, o).x == host.x);
          }
        }
}

TEST("fewer ranks: M is symmetric and positive") {
  NOTE(fresh::said());
  fresh::Random random(876);
  for (const Extents& grid : {Extents{8, 9, 7}, {6, 6, 20}})
    for (int ranks : {3, 5, 7})
      for (i64 alone : {0, 100, 16384})
        for (Cycle cycle : {Cycle::v, Cycle::w}) {
          NOTE(shown(grid), ", ", ranks, " ranks, levels of ", alone, " rows on one");
          const CsrMatrix A = with_solids(random, poisson(grid[0], grid[1], grid[2], 7, 50.0), 0.1);
          const Partition first = partition_in_layers(A.n, grid_layers(A.view(), grid, ranks, alone), ranks);
          const auto levels = std::make_shared<GridLevels>(A.view(), grid, first, alone);
          const std::vector<std::vector<double>> given{random.normals(A.n), random.normals(A.n)};
          CHECK(is_symmetric_and_positive(given, applied(A, given, levels, cycle)));
        }
}

TEST("fewer ranks: who owns levels of thousands of ranks, and to how many one sends") {
  using Counts = std::vector<int>;
  CHECK(owners_of(steps_of({64, 64, 262144}, 64, 4096)) == Counts{4096, 4096, 4096, 4096, 4096, 64, 1, 1, 1});
  CHECK(owners_of(steps_of({4, 4, 4096}, 64, 64)) == Counts{64, 1, 1});
  CHECK(owners_of(steps_of({16, 16, 16}, 1, 16)) == Counts{16, 1, 1, 1});
  CHECK(owners_of(steps_of({1, 1, 1500}, 1, 1500)) == Counts{1500, 24, 1});
  CHECK(owners_of(steps_of({64, 64, 64}, 16, 4)) == Counts{4, 4, 1, 1, 1});
  CHECK(owners_of(steps_of({64, 64, 64}, 16, 4, 0)) == Counts{4, 4, 4, 4, 4});
  CHECK(owners_of(steps_of({1024, 1024, 256}, 2, 128)) == Counts{128, 64, 32, 16, 8, 1, 1});
  for (const auto& [grid, depth, ranks] : {std::tuple<Extents, i64, int>{{64, 64, 262144}, 64, 4096},
                                           {{8, 8, 16384}, 4, 4096},
                                           {{512, 512, 3000}, 1, 3000},
                                           {{2, 2, 1024}, 1, 1024}})
    for (i64 alone : {0, 500, 16384}) {
      const auto levels = steps_of(grid, depth, ranks, alone);
      NOTE(shown(grid), " on ", ranks, " ranks, ", alone, ": ", most_messages(levels), " messages");
      CHECK(most_messages(levels) <= std::size_t(most_senders));
      const Extents& last = levels.back().cells;
      CHECK(last[0] * last[1] * last[2] <= 1024);
      for (std::size_t l = 1; l < levels.size(); l++) CHECK(owners(levels[l]) <= owners(levels[l - 1]));
    }
}

TEST(
    "fewer ranks: who owns nothing of coarse levels sends nothing for them but what goes there, and waits but for what comes") {
  const Extents grid{16, 16, 128};
  const CsrMatrix A = poisson(16, 16, 128, 7, 1.0);
  int waits[2] = {}, sends[2] = {};
  for (bool few : {false, true}) {
    const i64 alone = few ? level_rows_of_gpus : 0;
    const Partition first = partition_in_layers(A.n, grid_layers(A.view(), grid, 8, alone), 8);
    const auto levels = std::make_shared<GridLevels>(A.view(), grid, first, alone);
    host::HostEngine engine({.ranks = 8});
    engine.run([&](Rank& rank) {
      const CsrOperator matrix(rank, A.view(), first);
      const Multigrid M(rank, matrix, levels, Cycle::v);
      const Vec r = M.operand(rank, "r"), z = M.result(rank, "z");
      const Recorded body = rank.record([&] { M.apply(rank, r, z); });
      if (rank.id() != 5) return;
      auto has_peers = [&](int v) { return !rank.vectors()[std::size_t(v)].exchange->peers.empty(); };
      for (const Command& c : body.recording().commands) {
        sends[few] += int(std::count_if(c.pushes.begin(), c.pushes.end(), has_peers));
        waits[few] += int(std::count_if(c.ghosts.begin(), c.ghosts.end(), has_peers));
      }
    });
  }
  NOTE(sends[0], " and ", sends[1], " vectors sent");
  CHECK(sends[0] == 3 * 4 + 1);  // of three levels, and of the last one
  CHECK(sends[1] == 4 + 2);      // there, and what nobody needs of the rank's correction, which tells that it is ready
  CHECK(waits[0] == sends[0]);
  CHECK(waits[1] == sends[1]);
}
