// Arrays that come through a few buffers: each piece once, whoever empties its buffer, and no buffer filled before it is empty.
#include "sordino/base/staging.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// A device that brings numbers, and says what was wrong.
struct Device {
  Device(i64 count, i64 places) : buffers(std::size_t(places)), taken(static_cast<std::size_t>(count)) {}

  Staged staged() {
    return {.pieces = i64(taken.size()),
            .buffers = i64(buffers.size()),
            .begin = [this](i64 piece) { right = right && piece == begun++ && buffer(piece).exchange(piece + 1) == 0; },
            .wait =
                [this](i64 piece) {
                  right = right && piece == waited++ && piece < begun;
                  return true;
                },
            .empty =
                [this](i64 piece) {
                  right = right && piece < waited && buffer(piece) == piece + 1;
                  taken[std::size_t(piece)]++;
                  buffer(piece) = 0;
                }};
  }
  std::atomic<i64>& buffer(i64 piece) { return buffers[std::size_t(piece) % buffers.size()]; }
  bool all_once() const {
    return std::ranges::all_of(taken, [](const std::atomic<int>& n) { return n == 1; });
  }

  std::vector<std::atomic<i64>> buffers;  // the piece in each and 1; 0: none
  std::vector<std::atomic<int>> taken;
  std::atomic<i64> begun{0}, waited{0};
  std::atomic<bool> right{true};
};

void rest(i64 microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

/// Whether it becomes so in ten seconds.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int k = 0; k < 100000; k++, rest(100))
    if (condition()) return true;
  return false;
}

}  // namespace

TEST("each piece comes once, in turn, to an empty buffer, and is taken once, by any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(101);
  for (i64 pieces : {0, 1, 5, 200})
    for (i64 buffers : {1, 2, 7})
      for (int threads : {1, 2, 5, 40}) {
        NOTE(pieces, " pieces, ", buffers, " buffers, ", threads, " threads");
        Device device(pieces, buffers);
        Staged staged = device.staged();
        std::vector<i64> slow;
        for (i64 k = 0; k < 2 * pieces; k++) slow.push_back(random.chance(0.05) ? random.whole(0, 300) : 0);
        staged.wait = [&, wait = staged.wait](i64 piece) { return rest(slow[std::size_t(2 * piece)]), wait(piece); };
        staged.empty = [&, empty = staged.empty](i64 piece) { rest(slow[std::size_t(2 * piece + 1)]), empty(piece); };
        CHECK(bring(staged, threads));
        CHECK(device.right);
        CHECK(device.all_once());
      }
}

TEST("while one piece is waited for or taken, all other buffers are on their way") {
  constexpr i64 pieces = 20, buffers = 4;
  Device device(pieces, buffers);
  Staged staged = device.staged();
  bool full = true;
  auto look = [&](i64 piece) { full = full && device.begun == std::min(pieces, piece + buffers); };
  staged.wait = [&, wait = staged.wait](i64 piece) { return look(piece), wait(piece); };
  staged.empty = [&, empty = staged.empty](i64 piece) { look(piece), empty(piece); };
  CHECK(bring(staged, 1));
  CHECK(full);
}

TEST("several pieces are taken at the same time, and the caller takes some where others do not keep up") {
  Device device(4, 4);
  Staged staged = device.staged();
  std::atomic<int> inside{0}, by_caller{0};
  std::atomic<bool> met{true};
  const auto caller = std::this_thread::get_id();
  staged.empty = [&, empty = staged.empty](i64 piece) {
    inside++;
    by_caller += std::this_thread::get_id() == caller;
    if (!comes_true([&] { return inside >= 3; })) met = false;  // of three threads
    empty(piece);
  };
  CHECK(bring(staged, 3));
  CHECK(met);
  CHECK(by_caller > 0);
  CHECK(device.all_once());
}

TEST("a wait that ends ends all") {
  for (int threads : {1, 3}) {
    Device device(100, 5);
    Staged staged = device.staged();
    staged.wait = [wait = staged.wait](i64 piece) { return wait(piece) && piece < 10; };
    CHECK(!bring(staged, threads));
    CHECK(device.right);
    CHECK(device.begun <= 10 + 5);
  }
}

TEST("what is thrown ends all, and reaches the caller, whoever throws it") {
  auto fail = [](i64 piece) {
    if (piece == 7) throw std::runtime_error("seven");
  };
  for (int threads : {1, 3})
    for (i64 buffers : {2, 50})
      for (int who : {0, 1, 2}) {
        NOTE(threads, " threads, ", buffers, " buffers, step ", who);
        Device device(1000, buffers);
        Staged staged = device.staged();
        if (who == 0) staged.begin = [&, begin = staged.begin](i64 piece) { fail(piece), begin(piece); };
        if (who == 1) staged.wait = [&, wait = staged.wait](i64 piece) { return fail(piece), wait(piece); };
        if (who == 2) staged.empty = [&, empty = staged.empty](i64 piece) { fail(piece), empty(piece); };
        CHECK_THROWS(bring(staged, threads), std::runtime_error, "seven");
        CHECK(!device.all_once());
      }
}
