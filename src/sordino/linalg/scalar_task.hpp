// Scalars that the host computes between commands, from those that it gets.
#pragma once
#include <array>
#include <cstddef>

#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Records a host task by which `to` gets f(the values of `from`), once the reductions end that end there. On GPUs the queue
/// drains before it, two copies go to and fro, and a loop with it is no graph.
template <std::size_t count, class F>
void scalar_task(Rank& rank, const char* name, const Get (&from)[count], Scal to, F f) {
  std::array<Scal, count> names;
  for (std::size_t k = 0; k < count; k++) names[k] = {from[k].id};
  auto run = [names, to, f](const HostView& host) {
    std::array<double, count> values;
    for (std::size_t k = 0; k < count; k++) values[k] = host.get(names[k]);
    host.put(to, f(values));
  };
  rank.host({.name = name, .gets = {from, from + count}, .puts = {to}, .run = run});
}

}  // namespace sordino
