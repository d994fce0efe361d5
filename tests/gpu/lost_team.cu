// A process of a team's that dies while kernels of all add up: the others' waits end soon, with the same cause. The processes
// are this one and children of it that run one of these tests; no launcher takes part.
#include <cstdio>

#include "sordino/base/clock.hpp"
#include "spawned.hpp"
#include "team.hpp"

using namespace sordino;
using namespace spawned;
using cuda::DeviceTeam, cuda::Team, cuda::TeamRank, cuda::TeamSlots;

namespace {

constexpr const char* child_test = "lost team: a child of the test below";

__global__ void sum_again(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s, u32 epochs) {
  u32 epoch = cuda::last_epoch(t, s);
  double value = 1;
  for (u32 e = 0; e < epochs; e++)
    if (!cuda::all_reduce<1>(t, s, ++epoch, value)) return;
  if (threadIdx.x == 0) cuda::keep_epoch(t, s, epoch);
}

/// Adds up without an end, and calls `meanwhile` on the first rank after each thousand sums. Returns what ended it.
std::string endless(std::unique_ptr<Hall> hall, const Setting& s, const std::function<void()>& meanwhile = {}) {
  try {
    cuda::TeamOptions o;
    o.timeout = s.patience;
    Team team(o, std::move(hall));
    TeamSlots slots = team.slots("sums", 1);
    team.run([&](TeamRank& rank) {
      rank.load(sum_again);
      rank.barrier();
      for (;;) {
        rank.launch({.threads = 32}, sum_again, rank.team(), slots, 1000u);
        rank.wait();
        if (rank.id() == 0 && meanwhile) meanwhile();
      }
    });
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST("lost team: a child of the test below") {
  Setting s = setting_of_child();
  std::string cause = endless(Hall::enter(s.name, s.ranks, s.process), s);
  std::printf("ended by: %s\n", cause.c_str());
  std::fflush(stdout);
}

TEST("lost team: a process that is killed is named by all others, in time, and the GPUs work for a new team") {
  test::need_gpu();
  if (gpus() < 2) SKIP("takes two devices that reach each other");
  for (auto& ranks : layouts()) {
    NOTE("layout ", check::text(ranks));
    Setting s;
    s.patience = 20;
    s.ranks = ranks;
    auto hall = Hall::make(ranks);
    s.name = hall->name();
    Hall* here = hall.get();
    Children children(s, child_test);
    const int last = int(ranks.size()) - 1;
    int rounds = 0;
    double killed = 0;
    std::string cause = endless(std::move(hall), s, [&] {
      if (++rounds == 1) here->remove_name();
      if (rounds != 50) return;
      children.send(last, SIGKILL);
      killed = seconds_now();
    });
    double seconds = seconds_now() - killed;
    NOTE("process 0 says: ", cause, ", ", seconds, " s after it");
    CHECK(rounds >= 50);
    CHECK(seconds < 8);
    CHECK(cause.find(ranks.back() == 1 ? " is lost: process " : " are lost: process ") != std::string::npos);
    CHECK(cause.ends_with(", has died"));
    for (int p = 1; p < last; p++) {
      std::string said = children.said_by(p);
      NOTE("process ", p, " says: ", said);
      CHECK(said.find("ended by: " + cause + "\n") != std::string::npos);
    }
    Team again(test::team_options(2));
    TeamSlots slots = again.slots("sums", 1);
    again.run([&](TeamRank& rank) {
      rank.load(sum_again);
      rank.barrier();
      rank.launch({.threads = 32}, sum_again, rank.team(), slots, 10u);
    });
  }
}
