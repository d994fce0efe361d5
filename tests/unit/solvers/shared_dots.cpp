#include "unit/solvers/groups_dots.hpp"

#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

TEST("dot products that groups of ranks share have the bits of the one order, on every rank") {
  const auto expected = groups_dots::expected();
  for (auto [ranks, group] :
       {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 2}, {6, 3}, {7, 7}}) {  // of 5 blocks, 7 ranks: some have none
    NOTE(ranks, " ranks in groups of ", group);
    host::HostEngine host({.ranks = ranks});
    for (const auto& found : groups_dots::found(host, group)) CHECK(found == expected);
    model::ModelEngine model({.machine = {}, .ranks = ranks});
    for (const auto& found : groups_dots::found(model, group)) CHECK(found == expected);
  }
}
