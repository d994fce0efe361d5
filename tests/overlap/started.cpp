// What a program does between the start of a replay and its wait, on the virtual clock: hidden while the device computes, and
// not a moment longer.
#include <algorithm>

#include "check.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

using namespace sordino;

constexpr double us = 1e-6, tolerance = 1e-12;

model::Options machine(int ranks) {
  model::Options m;
  m.ranks = ranks;
  m.machine.host_overhead_s = 0.5 * us;
  m.machine.internode_latency_s = m.machine.link_latency_s = 2 * us;
  m.machine.link_bandwidth = m.machine.internode_bandwidth = 1e18;
  m.machine.launch_s = 5 * us;
  return m;
}

/// Seconds on the clock of the rank that takes longest, for `commands` commands and `sums` all-reduces of host data, one after
/// the other.
double seconds(int commands, int sums, bool aside) {
  double most = 0;
  model::ModelEngine e(machine(4));
  e.run([&](Rank& s) {
    Recorded work = s.record([&] {
      for (int k = 0; k < commands; k++) s.run(Nothing{});
    });
    Communicator c(s, 1);
    e.barrier(s);
    double begin = e.now(s);
    auto talk = [&] {
      for (int k = 0; k < sums; k++) CHECK(c.all_reduce(std::vector<i32>{s.id()})[0] == 6);
    };
    if (aside) {
      Replay replay = s.start(work);
      talk();
      replay.wait();
    } else {
      if (commands) s.replay(work);
      talk();
    }
    most = std::max(most, e.now(s) - begin);
  });
  return most;
}

}  // namespace

TEST("host work between start and wait costs nothing where it is hidden, and what sticks out where it is not") {
  double talk = seconds(0, 3, false);
  CHECK(talk > 10 * us);
  CHECK(talk < 50 * us);
  for (int commands : {1, 4, 20, 100}) {
    NOTE(commands, " commands");
    double work = 5 * us * commands;
    CHECK_NEAR(seconds(commands, 3, false), work + talk, tolerance);
    CHECK_NEAR(seconds(commands, 3, true), std::max(work, talk), tolerance);
  }
}

TEST("a test takes a moment of the program, none of the replay's, and says on the clock when that has ended") {
  model::Options m = machine(2);
  m.machine.host_overhead_s = 0.7 * us;
  model::ModelEngine e(m);
  e.run([&](Rank& s) {
    Recorded work = s.record([&] {
      for (int k = 0; k < 4; k++) s.run(Nothing{});
    });
    double begin = e.now(s);
    Replay replay = s.start(work);
    int tests = 0;
    while (!replay.test()) tests++;
    CHECK(tests == 28);  // the next one ends behind the commands
    replay.wait();
    CHECK_NEAR(e.now(s) - begin, 29 * 0.7 * us, tolerance);
    CHECK_NEAR(s.ledger.time, 20 * us, tolerance);
  });
}

TEST("host tasks of a started replay begin when the program waits or tests, and keep it busy") {
  for (bool poll : {false, true}) {
    NOTE(poll ? "tests" : "waits");
    model::ModelEngine e(machine(2));
    e.run([&](Rank& s) {
      Recorded work = s.record([&] { s.host({.name = "think", .run = [](const HostView&) {}, .seconds = 30 * us}); });
      Communicator c(s, 1);
      e.barrier(s);
      double begin = e.now(s);
      Replay replay = s.start(work);
      if (poll)
        while (!replay.test()) {
        }
      replay.wait();
      CHECK(e.now(s) - begin >= 35 * us - tolerance);
      CHECK(e.now(s) - begin <= 36 * us);
    });
  }
}
