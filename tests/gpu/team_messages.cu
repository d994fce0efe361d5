// Values, puts, signals and barriers of a team.
#include "team.hpp"

using namespace sordino;
using cuda::DeviceTeam, cuda::Team, cuda::TeamRank, cuda::Symmetric, cuda::TeamSignals, cuda::TeamSlots;
using test::team_options, test::random_values;

namespace {

// --- values, puts and signals ----------------------------------------------------------------------------------------------

/// The scope sends a piece to the next rank around a ring; the first block takes what came from the one before it.
template <cuda::Scope scope>
__global__ void pass_on(const __grid_constant__ DeviceTeam t, TeamSignals s, u32 epoch, Symmetric<double> box,
                        Symmetric<double> got, i64 shift, const double* from, i64 n) {
  i32 next = (t.rank + 1) % t.ranks, before = (t.rank + t.ranks - 1) % t.ranks;
  u32 senders = scope == cuda::Scope::thread ? 1 : scope == cuda::Scope::warp ? 32 : blockDim.x;
  if (threadIdx.x < senders) cuda::put_and_signal<scope>(t, t.at(next, box) + shift, from + shift, n, s, next, epoch);
  if (blockIdx.x != 0) return;
  bool lost = threadIdx.x < 32 && !cuda::wait_signals(t, s, 1u << before, epoch);
  if (__syncthreads_or(lost)) return;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) t.mine(got)[i] = t.mine(box)[shift + i];
}

template <cuda::Scope scope>
void check_put(int ranks, int blocks, i64 n, i64 shift, u32 first_epoch) {
  NOTE("scope ", int(scope), ", ", n, " doubles from ", shift, ", ", ranks, " ranks");
  Team team(team_options(ranks, first_epoch));
  TeamSignals signals = team.signals("pieces");
  auto from = team.array<double>(n + shift), box = team.array<double>(n + shift), got = team.array<double>(n + shift);
  for (int round = 0; round < 3; round++) {
    for (int r = 0; r < ranks; r++) team.write(r, from, random_values(n + shift, 100 * round + r).data(), n + shift);
    team.run([&](TeamRank& rank) {
      const DeviceTeam& t = rank.team();
      rank.load(pass_on<scope>);
      rank.barrier();
      rank.launch({.blocks = blocks}, pass_on<scope>, t, signals, first_epoch + u32(round) + 1, box, got, shift, t.mine(from),
                  n);
    });
    std::vector<double> found(std::size_t(n), 0.0);
    for (int r = 0; r < ranks; r++) {
      team.read(r, got, found.data(), n);
      auto sent = random_values(n + shift, 100 * round + (r + ranks - 1) % ranks);
      sent.erase(sent.begin(), sent.begin() + shift);
      CHECK(found == sent);
    }
  }
}

/// Values around the ring, each rank adding one: `rounds` times around.
__global__ void go_around(const __grid_constant__ DeviceTeam t, TeamSlots s, u32 rounds, double* out) {
  i32 next = (t.rank + 1) % t.ranks, before = (t.rank + t.ranks - 1) % t.ranks;
  u32 epoch = cuda::last_epoch(t, s);
  double value = 0;
  for (u32 i = 0; i < rounds; i++) {
    epoch++;
    if (t.rank == 0) cuda::send(t, s, next, epoch, value, 2);
    if (!cuda::receive(t, s, before, epoch, value, 2)) return;
    value++;
    if (t.rank > 0) cuda::send(t, s, next, epoch, value, 2);
  }
  cuda::keep_epoch(t, s, epoch);
  *out = value;
}

// --- barriers --------------------------------------------------------------------------------------------------------------

/// Between barriers every block of every rank writes the round's number to all ranks; behind them it reads all of them.
__global__ void meet(const __grid_constant__ DeviceTeam t, TeamSignals s, Symmetric<double> board, u32 first, int rounds,
                     unsigned* wrong) {
  i32 blocks = gridDim.x;
  auto all_meet = [&](u32 epoch) {
    if (!cuda::grid_barrier(t)) return false;
    if (blockIdx.x == 0 && !cuda::team_barrier(t, s, epoch)) return false;
    return cuda::grid_barrier(t);
  };
  for (int round = 1; round <= rounds; round++) {
    if (threadIdx.x < t.ranks) t.at(threadIdx.x, board)[t.rank * blocks + blockIdx.x] = round;
    if (!all_meet(first + 2 * round - 1)) return;
    for (i32 i = threadIdx.x; i < t.ranks * blocks; i += blockDim.x)
      if (t.mine(board)[i] != round) atomicAdd(wrong, 1u);
    if (!all_meet(first + 2 * round)) return;
  }
}

}  // namespace

TEST("team: puts by a thread, a warp, a block and a grid arrive before their signal") {
  for (int ranks : test::waiting_ranks())
    for (i64 shift : {0, 1}) {
      check_put<cuda::Scope::thread>(ranks, 1, 33, shift, 0xffffffffu);
      check_put<cuda::Scope::warp>(ranks, 1, 1001, shift, 0x7fffffffu);
      check_put<cuda::Scope::block>(ranks, 1, 10'007, shift, 0);
      check_put<cuda::Scope::grid>(ranks, 50, 200'001, shift, 0xfffffffeu);
    }
}

TEST("team: a value goes around the ring") {
  for (int ranks : test::waiting_ranks()) {
    if (ranks == 1) continue;
    Team team(team_options(ranks, 0xffffff00u));
    TeamSlots slots = team.slots("values", 3);
    auto out = team.array<double>(1);
    team.run([&](TeamRank& rank) {
      const DeviceTeam& t = rank.team();
      rank.load(go_around);
      rank.barrier();
      rank.launch({.threads = 1}, go_around, t, slots, 1000u, t.mine(out));
    });
    double value = 0;
    team.read(0, out, &value, 1);
    CHECK(value == 1000.0 * ranks);
  }
}

TEST("team: nobody leaves a barrier before all have come, and all is visible behind it") {
  for (int ranks : test::waiting_ranks())
    for (int blocks : {1, 2, 60}) {
      NOTE(ranks, " ranks, ", blocks, " blocks");
      constexpr u32 first = 0xffffffc0u;
      Team team(team_options(ranks, first));
      TeamSignals signals = team.signals("a barrier");
      auto board = team.array<double>(i64(ranks) * blocks);
      auto wrong = team.array<unsigned>(1);
      team.run([&](TeamRank& rank) {
        const DeviceTeam& t = rank.team();
        rank.load(meet);
        rank.barrier();
        rank.launch({.blocks = blocks, .threads = 64, .resident = true}, meet, t, signals, board, first, 50, t.mine(wrong));
      });
      for (int r = 0; r < ranks; r++) {
        unsigned n = 1;
        team.read(r, wrong, &n, 1);
        CHECK(n == 0);
      }
    }
}
