// Waits of a team that nobody answers end in time, on all ranks, with one cause.
#include <chrono>
#include <functional>

#include "team.hpp"

using namespace sordino;
using cuda::DeviceTeam, cuda::Team, cuda::TeamRank, cuda::TeamSignals, cuda::TeamSlots;
using test::team_options;

namespace {

__global__ void wait_in_vain(const __grid_constant__ DeviceTeam t, TeamSignals s, i32 from, u32 epoch) {
  cuda::wait_signal(t, s, from, epoch);
}
__global__ void wait_for_sums(const __grid_constant__ DeviceTeam t, TeamSlots s) {
  double value = 1;
  cuda::take_sums<1, true>(t, s, cuda::last_epoch(t, s) + 1, value);
}

__global__ void start_sums(const __grid_constant__ DeviceTeam t, TeamSlots s) {
  double sums[1] = {1};
  cuda::start_reduction<1>(t, s, sums);
}

/// All blocks but one of the last rank come to a sum of the grid.
__global__ void sum_of_grid(const __grid_constant__ DeviceTeam t, TeamSlots s, u32* got_sums) {
  double sums[1] = {1};
  if (t.rank == t.ranks - 1 && blockIdx.x == 2) return;
  if (cuda::grid_all_reduce<1, true>(t, s, cuda::last_epoch(t, s) + 1, sums)) atomicAdd(got_sums, 1u);
}

struct Failure {
  std::string cause;
  double seconds = 0;
};

Failure fail(Team& team, const std::function<void(TeamRank&)>& job) {
  Failure f;
  auto begin = std::chrono::steady_clock::now();
  try {
    team.run(job);
  } catch (const Error& e) {
    f.cause = e.what();
  }
  f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return f;
}

}  // namespace

TEST("team: a signal that never comes is named by all ranks, in time, and the team is void") {
  for (int ranks : test::waiting_ranks()) {
    NOTE(ranks, " ranks");
    auto o = team_options(ranks, 41);
    o.timeout = 0.5;
    Team team(o);
    TeamSignals signals = team.signals("faces");
    Failure f = fail(team, [&](TeamRank& rank) {
      rank.load(wait_in_vain);
      rank.barrier();
      rank.launch({.threads = 1}, wait_in_vain, rank.team(), signals, ranks - 1, 42u);
      rank.wait();
      CHECK(false);  // all of them wait in vain
    });
    NOTE(f.cause);
    CHECK(f.cause.find("a kernel waited 0.5 s for rank " + std::to_string(ranks - 1) +
                       "'s signal of 'faces', epoch 42 (seen 41)") != std::string::npos);
    CHECK(f.seconds < 5);
    CHECK_THROWS(team.run([](TeamRank&) {}), Error, "this team has failed before");
  }
}

TEST("team: a sum of grids that one block does not come to is nobody's, on any rank") {
  for (int ranks : test::waiting_ranks())
    for (int blocks : {4, 200}) {
      NOTE(ranks, " ranks, ", blocks, " blocks");
      auto o = team_options(ranks);
      o.timeout = 0.3;
      Team team(o);
      TeamSlots slots = team.slots("dots", 1, 2 * blocks);
      auto got_sums = team.array<u32>(1);
      Failure f = fail(team, [&](TeamRank& rank) {
        rank.load(sum_of_grid);
        rank.barrier();
        rank.launch({.blocks = blocks, .resident = true}, sum_of_grid, rank.team(), slots, rank.team().mine(got_sums));
      });
      NOTE(f.cause);
      CHECK(f.cause.find("a kernel waited 0.3 s for ") != std::string::npos);
      for (int r = 0; r < ranks; r++) {
        u32 found = 1;
        team.read(r, got_sums, &found, 1);
        CHECK(found == 0);
      }
    }
}

TEST("team: a sum that never comes is named, and a new team works") {
  test::need_gpu();
  auto o = team_options(1);
  o.timeout = 0.3;
  Team team(o);
  TeamSlots slots = team.slots("dots", 1);
  Failure f = fail(team, [&](TeamRank& rank) { rank.launch({.threads = 32}, wait_for_sums, rank.team(), slots); });
  CHECK(f.cause.find("rank 0: a kernel waited 0.3 s for rank 0's part of 'dots', epoch 1") != std::string::npos);
  CHECK(f.seconds < 5);
  Team again(o);
  TeamSignals signals = again.signals("faces");
  again.run([&](TeamRank& rank) { rank.launch({.threads = 1}, wait_in_vain, rank.team(), signals, 0, 0u); });  // has come
}

TEST("team: a grid that is larger than its slots writes nothing, and is named") {
  test::need_gpu();
  Team team(team_options(1));
  TeamSlots slots = team.slots("dots", 1, 3);
  team.run([&](TeamRank& rank) { rank.launch({.blocks = 3}, start_sums, rank.team(), slots); });
  Failure f = fail(team, [&](TeamRank& rank) { rank.launch({.blocks = 4}, start_sums, rank.team(), slots); });
  CHECK(f.cause == "rank 0: more than 3 blocks of a grid started 'dots', which was made for so many");
}

TEST("team: when a rank throws, waits of all others end with its cause") {
  for (int ranks : test::waiting_ranks()) {
    if (ranks == 1) continue;
    auto o = team_options(ranks);
    o.timeout = 60;
    Team team(o);
    TeamSignals signals = team.signals("faces");
    Failure f = fail(team, [&](TeamRank& rank) {
      rank.load(wait_in_vain);
      rank.barrier();
      if (rank.id() == 1) throw std::runtime_error("out of coffee");
      rank.launch({.threads = 1}, wait_in_vain, rank.team(), signals, 1, 7u);
      rank.wait();
    });
    CHECK(f.cause == "rank 1: out of coffee");
    CHECK(f.seconds < 10);
  }
}

TEST("team: what cannot be met is refused with a sentence") {
  test::need_gpu();
  CHECK_THROWS(Team(team_options(17)), Error, "a team takes at most 16 ranks");
  Team team(team_options(1));
  CHECK_THROWS(team.slots("sums", 17), Error, "slots are for 1 to 16 values");
  CHECK_THROWS(team.array<double>(1 << 30), Error, "set TeamOptions::window");
  CHECK_THROWS(team.run([&](TeamRank& rank) {
    rank.launch({.blocks = 1 << 20, .resident = true}, wait_for_sums, rank.team(), team.slots("more", 1));
  }),
               Error, "cudaLaunchKernelExC failed");
}
