#include "sordino/runtime/threads.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>

#include "check.hpp"

using namespace sordino;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double forever() { return -1; }

}  // namespace

TEST("every thread of a team does every job once, on a thread of its own that it keeps") {
  for (int threads : {1, 2, 7}) {
    ThreadTeam team(threads);
    std::vector<std::thread::id> who(static_cast<std::size_t>(threads));
    for (int round = 0; round < 50; round++) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(threads));
      bool ended = team.run(
          [&](int i) {
            done[std::size_t(i)]++;
            if (round == 0) who[std::size_t(i)] = std::this_thread::get_id();
            CHECK(who[std::size_t(i)] == std::this_thread::get_id());
          },
          forever);
      CHECK(ended);
      for (auto& d : done) CHECK(d == 1);
    }
    CHECK(std::set(who.begin(), who.end()).size() == threads);
    CHECK(!team.stuck());
  }
}

TEST("a team is watched about twenty times a second") {
  ThreadTeam team(2);
  int ticks = 0;
  team.run([&](int) { std::this_thread::sleep_for(std::chrono::milliseconds(330)); },
           [&] {
             ticks++;
             return -1.0;
           });
  CHECK(ticks >= 3);
  CHECK(ticks <= 7);
}

TEST("a thread that does not come back is left behind when the time is up, and may come back later") {
  auto released = std::make_shared<std::atomic<bool>>(false);
  auto back = std::make_shared<std::atomic<bool>>(false);
  auto begin = std::chrono::steady_clock::now();
  {
    ThreadTeam team(3);
    bool ended = team.run(
        [=](int i) {
          while (i == 1 && !*released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (i == 1) *back = true;
        },
        [] { return 0.2; });
    CHECK(!ended);
    CHECK(team.stuck());
  }
  CHECK(seconds_since(begin) < 5);
  *released = true;
  for (int i = 0; i < 2000 && !*back; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(*back);
}

TEST("a team keeps nothing of a job that has ended, not even if a watcher threw") {
  ThreadTeam team(3);
  auto held = std::make_shared<int>(1);
  for (int round = 0; round < 20; round++) {
    team.run([held](int) { CHECK(*held == 1); }, forever);
    CHECK(held.use_count() == 1);
  }
  CHECK_THROWS(team.run([held](int) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); },
                        []() -> double { throw std::runtime_error("the watcher's own"); }),
               std::runtime_error, "own");
  CHECK(held.use_count() == 1);
}

TEST("a watcher that throws is waited for no longer than its team takes") {
  ThreadTeam team(2);
  std::atomic<int> ended{0};
  auto job = [&](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ended++;
  };
  CHECK_THROWS(team.run(job, []() -> double { throw std::runtime_error("the watcher's own"); }), std::runtime_error, "own");
  CHECK(ended == 2);  // nobody works for a job that is gone
  CHECK(team.run(job, forever));
  CHECK(ended == 4);
}
