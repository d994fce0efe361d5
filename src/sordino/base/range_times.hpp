// How long ranges (range.hpp) take, for benchmarks that tell a setup's phases apart.
#pragma once
#include <string>
#include <vector>

namespace sordino {

/// Of all ranges of a name.
struct RangeTime {
  std::string name;
  int count = 0;
  double seconds = 0;  // of the longest one's thread, all of its ranges together; those inside others are in both
};

/// From now on ranges are timed, in place of whoever looked at them. Nothing may be under way.
void time_ranges();
/// Those since then, in the order in which they first began; nobody looks any more. Nothing may be under way.
std::vector<RangeTime> timed_ranges();

}  // namespace sordino
