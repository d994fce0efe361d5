// Values, puts, signals and barriers of a team.
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/put.hpp"
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

/// Waits for the puts of rank `from` in turn, each a piece that ends where `ends` says. Counts words that are not there when
/// their flag is, and flags that go back.
__global__ void watch(const __grid_constant__ DeviceTeam t, TeamSignals s, i32 from, u32 epoch, Symmetric<i64> ends,
                      Symmetric<double> box, Symmetric<double> wanted, unsigned* wrong) {
  const u32* flag = t.mine(s.flags) + from * cuda::flag_stride;
  u32 last = cuda::flag_word(epoch, false);
  i64 i = threadIdx.x;
  for (i64 k = 0; k < ends.count; k++) {
    epoch++;
    bool lost =
        threadIdx.x == 0 && !cuda::spin(t, cuda::Wait::halo, s.channel, from, cuda::flag_word(epoch, false), [&](u32& seen) {
          seen = cuda::load_acquire(flag);
          if (i32(seen - last) < 0) atomicAdd(wrong, 1u);
          last = seen;
          return cuda::has_come(seen, epoch);
        });
    if (__syncthreads_or(lost)) return;
    for (; i < t.mine(ends)[k]; i += blockDim.x)
      if (t.mine(box)[i] != t.mine(wanted)[i]) atomicAdd(wrong, 1u);
  }
}

/// Puts that overlap: large ones ahead of tiny ones, which are through first; from even and odd places; one by the engine.
void check_overlapping_puts(int ranks, u32 epoch) {
  NOTE(ranks, " ranks, from epoch ", epoch);
  const i64 sizes[] = {1 << 20, 1, 32, 200'001, 2, 1 << 18, 1001, 1 << 20, 8, 500'000, 3}, by_engine = 5;
  std::vector<i64> ends;
  for (i64 n : sizes) ends.push_back(n + (ends.empty() ? 0 : ends.back()));
  const int to = ranks - 1;
  const i64 words = ends.back();
  cuda::TeamOptions options = team_options(ranks, epoch);
  options.window = std::size_t(words) * 3 * 8 + (1 << 20);
  Team team(options);
  TeamSignals signals = team.signals("overlapping puts");
  auto from = team.array<double>(words), box = team.array<double>(words), wanted = team.array<double>(words);
  auto on_device = team.array<i64>(i64(ends.size()));
  auto wrong = team.array<unsigned>(1);
  team.write(to, on_device, ends.data(), on_device.count);
  auto put_all = [&](TeamRank& rank) {
    cuda::Behind behind = cuda::Behind::anything;
    for (i64 k = 0; k < on_device.count; k++, behind = cuda::Behind::put) {
      i64 n = sizes[k], at = ends[std::size_t(k)] - n;
      cuda::put(rank, signals, to, rank.team().at(to, box) + at, rank.team().mine(from) + at, n,
                k == by_engine ? cuda::By::engine : cuda::By::automatic, behind);
    }
  };
  for (int round = 0; round < 4; round++, epoch += u32(ends.size())) {
    NOTE("round ", round);
    auto values = random_values(words, round);
    team.write(0, from, values.data(), words);
    team.write(to, wanted, values.data(), words);
    cudaGraphExec_t replayed = nullptr;
    team.run([&](TeamRank& rank) {
      rank.load(watch);
      cuda::load_puts(rank);
      if (rank.id() == 0 && round >= 2) {
        cudaGraph_t graph = nullptr;
        cuda::call("cudaStreamBeginCapture", cudaStreamBeginCapture(rank.stream(), cudaStreamCaptureModeThreadLocal));
        put_all(rank);
        cuda::call("cudaStreamEndCapture", cudaStreamEndCapture(rank.stream(), &graph));
        cuda::call("cudaGraphInstantiate", cudaGraphInstantiate(&replayed, graph, 0));
        cuda::call("cudaGraphDestroy", cudaGraphDestroy(graph));
        cuda::call("cudaGraphUpload", cudaGraphUpload(replayed, rank.stream()));
        rank.wait();
      }
      rank.barrier();
      if (rank.id() == 0 && replayed)
        cuda::call("cudaGraphLaunch", cudaGraphLaunch(replayed, rank.stream()));
      else if (rank.id() == 0)
        put_all(rank);
      if (rank.id() == to)
        rank.launch({.threads = 1024}, watch, rank.team(), signals, 0, epoch, on_device, box, wanted, rank.team().mine(wrong));
    });
    if (replayed) cuda::call("cudaGraphExecDestroy", cudaGraphExecDestroy(replayed));
    unsigned n = 1;
    team.read(to, wrong, &n, 1);
    CHECK(n == 0);
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

TEST("team: puts that overlap are signalled in turn, each when it is there") {
  for (int ranks : test::waiting_ranks())
    if (ranks <= 2)
      for (u32 epoch : {0u, 0x7ffffff8u, 0xfffffff8u}) check_overlapping_puts(ranks, epoch);
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
