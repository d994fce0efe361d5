// Which launches leave their sums to the next one (runtime/cuda/collecting.hpp). Needs no GPU.
#include "sordino/runtime/cuda/collecting.hpp"

#include "check.hpp"

using sordino::cuda::Stage;
using sordino::cuda::who_hands_on;

namespace {

Stage starts(int slot) { return {.starts = slot, .blocks = 264}; }
Stage work() { return {.blocks = 792, .can_collect = true}; }
Stage finishes(int slot) { return {.finishes = {slot}, .blocks = 264, .can_collect = true}; }

/// Of a loop, or of a recording that is replayed once.
std::vector<bool> in_loop(const std::vector<Stage>& stages) { return who_hands_on(stages, true); }
std::vector<bool> once(const std::vector<Stage>& stages) { return who_hands_on(stages, false); }

using Bools = std::vector<bool>;

}  // namespace

TEST("sums are handed on to work that needs none of them") {
  CHECK(in_loop({starts(0), work(), finishes(0)}) == Bools({true, false, false}));
  CHECK(once({starts(0), work(), finishes(0)}) == Bools({true, false, false}));
  CHECK(in_loop({starts(0), finishes(1), finishes(0)}) == Bools({true, false, false}));
}

TEST("sums are not handed on to who finishes them: its blocks would wait for one of their own") {
  CHECK(in_loop({starts(0), finishes(0), work()}) == Bools({false, false, false}));
  Stage both = work();
  both.finishes = {3, 0};
  CHECK(in_loop({starts(0), both}) == Bools({false, false}));
}

TEST("the last launch of a loop hands on to the first one, and that of a recording without a loop keeps its sums") {
  CHECK(in_loop({work(), starts(0)}) == Bools({false, true}));
  CHECK(once({work(), starts(0)}) == Bools({false, false}));
  Stage alone = starts(0);
  alone.can_collect = true;
  CHECK(in_loop({alone}) == Bools({false}));
  CHECK(in_loop({}).empty());
}

TEST("sums stay where the next launch cannot collect, where either is left out in some iterations, or one block has them all") {
  Stage small = starts(0), rare = starts(0), rare_work = work(), unable = work();
  small.blocks = 1;
  rare.always = rare_work.always = unable.can_collect = false;
  CHECK(in_loop({small, work(), finishes(0)}) == Bools({false, false, false}));
  CHECK(in_loop({rare, work(), finishes(0)}) == Bools({false, false, false}));
  CHECK(in_loop({starts(0), rare_work, finishes(0)}) == Bools({false, false, false}));
  CHECK(in_loop({starts(0), unable, finishes(0)}) == Bools({false, false, false}));
}

TEST("several launches of an iteration hand on, each to the one behind it") {
  CHECK(in_loop({starts(0), work(), starts(1), work(), finishes(0), finishes(1)}) ==
        Bools({true, false, true, false, false, false}));
}
