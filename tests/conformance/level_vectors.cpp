// What the vectors of levels take that are made of a grid's fields is known before there are any.
#include "check.hpp"
#include "made_levels.hpp"
#include "sordino/precond/multigrid.hpp"
#include "sordino/precond/vector_bytes.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace made_levels;

namespace {

/// What goes between a level and the one above it.
bool is_of_transfer(const std::string& name) {
  return name == "correction to be interpolated" || name == "restricted residual" || name == "correction of others";
}

/// Bytes of the rank's vectors on levels before `end`, and of what goes to it and comes from there.
i64 bytes_held(const Rank& rank, const MultigridLevels& levels, int end) {
  i64 numbers = 0;
  for (const auto& v : rank.vectors()) {
    const i64 n = rank.space(v.space).n_global, there = levels.partition(end).n;
    if (n > there || (n == there && is_of_transfer(v.name))) numbers += v.length;
  }
  return i64(sizeof(double)) * numbers;
}

}  // namespace

TEST("vectors of levels that are made of fields take what is expected, to the byte") {
  NOTE(fresh::said());
  fresh::Random random(981);
  for (int ranks : {1, 2, 3})
    for (const Cycle cycle : {Cycle::v, Cycle::w}) {
      const Extents cells{random.whole(40, 70), random.whole(40, 70), random.whole(48, 80)};
      const Fields f = fields::random(cells, wanted(int(random.whole(0, 7)), random), random);
      const auto levels = std::shared_ptr<GridLevels>(new GridLevels(levels_of(f.view(), ranks, ranks)));
      NOTE(shown(cells), ", ", ranks, " ranks");
      int end = 0;
      while (levels->made(end).is_given()) end++;
      REQUIRE(end >= 1);
      host::HostEngine engine({.ranks = ranks});
      engine.run([&](Rank& rank) {
        const CsrOperator A(rank, levels->made(0), levels->partition(0));
        const i64 before = bytes_held(rank, *levels, end);
        const i64 expected = made_vector_bytes(*levels, cycle != Cycle::v, rank.id(), false);
        const Multigrid M(rank, A, levels, cycle, levels->made(0).diagonals);
        CHECK(bytes_held(rank, *levels, end) - before == expected);
      });
    }
}
