// How long messages and broadcasts of host data take: on the engine's clock. As GMH measures them (paper 002, Figs 7 to 9).
#pragma once
#include <string>

#include "sordino/runtime/engine.hpp"

namespace sordino {

enum class Traffic {
  ping_pong,  // to and fro
  one_way,    // many in one direction; the last one is answered
  both_ways,  // many in both directions at the same time
  broadcast,  // of rank 0, until the last rank has it
};

/// The traffic of this name. Throws bad_argument with the names there are.
Traffic traffic_named(const std::string& name);

/// Seconds for one message of `bytes` between the first rank and the last (of ping_pong half a round, of both_ways one in each
/// direction), or for a broadcast to all; the median of `repeats` measurements after one that does not count. The bytes are
/// copied once on each side, as for a user's own messages. Collective over the processes of an engine. Throws bad_argument
/// unless there are 2 ranks, bytes >= 0 and repeats > 0.
double time_traffic(Engine& engine, Traffic traffic, i64 bytes, int repeats);

}  // namespace sordino
