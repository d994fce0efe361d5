// Places of commands in the order of a replay on a device (runtime/cuda/wire.hpp). Needs no GPU.
#include "check.hpp"
#include "sordino/runtime/cuda/wire.hpp"
#include "unit/fresh.hpp"

using namespace sordino;
using namespace sordino::cuda;

TEST("places: what stands behind a mark is told from what stands ahead of it, in replays of any length") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (int round = 0; round < 1000; round++) {
    const auto commands = i32(random.whole(1, 40)), iteration = i32(random.whole(0, 2'000'000'000));
    const auto command = i32(random.whole(0, commands - 1)), other = i32(random.whole(0, commands - 1));
    const auto later = i32(random.whole(0, 10'000'000));
    u32 mark = place_in_order(iteration, commands, command), place = place_in_order(iteration + later, commands, other);
    NOTE(iteration, " * ", commands, " + ", command, ", ", later, " iterations later");
    bool behind = later > 0 || other >= command;
    CHECK(is_from(place, mark) == behind);
    CHECK(is_from(mark, place) == (place == mark || !behind));
    CHECK(!is_from(place, 0));
    CHECK(is_from(place, from_the_start));
    CHECK((place != 0 && place != from_the_start));
  }
}
