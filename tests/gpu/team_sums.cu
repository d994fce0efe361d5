// Reductions of a team against the host, near the wrap-around of epochs; and the packets that they rest on.
#include "team.hpp"

#include <bit>

#include "sordino/comm/cuda/litmus.hpp"

using namespace sordino;
using cuda::DeviceTeam, cuda::Team, cuda::TeamRank, cuda::TeamSlots;
using test::team_options, test::random_values;

namespace {

constexpr u32 beginnings[] = {0, 0x7ffffff0u, 0xfffffff0u};  // of epochs: flags hold 31 bits of them, counters 32

// --- all-reduce in a kernel ------------------------------------------------------------------------------------------------

template <int K>
__global__ void reduce_rows(const __grid_constant__ DeviceTeam t, TeamSlots s, const double* in, double* out, int rows) {
  u32 epoch = cuda::last_epoch(t, s);
  for (int i = 0; i < rows; i++) {
    double value = threadIdx.x < K ? in[i * K + threadIdx.x] : 0;
    if (!cuda::all_reduce<K>(t, s, ++epoch, value)) return;
    if (threadIdx.x < K) out[i * K + threadIdx.x] = value;
  }
  if (threadIdx.x == 0) cuda::keep_epoch(t, s, epoch);
}

template <int K>
void check_all_reduce(int ranks, u32 first_epoch) {
  NOTE(K, " values, ", ranks, " ranks, from epoch ", first_epoch);
  constexpr int rows = 100;
  Team team(team_options(ranks, first_epoch));
  TeamSlots slots = team.slots("sums", K);
  auto in = team.array<double>(rows * K), out = team.array<double>(rows * K);
  std::vector<double> wanted(rows * K, 0.0), found(rows * K);
  for (int r = 0; r < ranks; r++) {
    auto mine = random_values(rows * K, r);
    team.write(r, in, mine.data(), rows * K);
    for (int i = 0; i < rows * K; i++) wanted[std::size_t(i)] += mine[std::size_t(i)];  // rank by rank
  }
  for (int twice = 0; twice < 2; twice++)
    team.run([&](TeamRank& rank) {
      const DeviceTeam& t = rank.team();
      rank.load(reduce_rows<K>);
      rank.barrier();
      rank.launch({.threads = 32}, reduce_rows<K>, t, slots, t.mine(in), t.mine(out), rows);
    });
  for (int r = 0; r < ranks; r++) {
    team.read(r, out, found.data(), rows * K);
    CHECK(found == wanted);
  }
}

// --- from tail to head -----------------------------------------------------------------------------------------------------

template <int K>
__global__ void start_sums(const __grid_constant__ DeviceTeam t, TeamSlots s, const double* in, i64 n) {
  double sums[K] = {};
  i64 step = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    for (int k = 0; k < K; k++) sums[k] += in[i * K + k];
  cuda::start_reduction<K>(t, s, sums);
}

/// Every block writes what it got.
template <int K>
__global__ void finish_sums(const __grid_constant__ DeviceTeam t, TeamSlots s, double* out) {
  double sums[K];
  if (!cuda::finish_reduction<K>(t, s, sums)) return;
  if (threadIdx.x < K)
    for (int k = 0; k < K; k++) out[blockIdx.x * K + k] = sums[k];
}

template <int K>
void check_tail_to_head(int ranks, int blocks, bool one_device, u32 first_epoch) {
  NOTE(K, " values, ", ranks, " ranks, ", blocks, " blocks, from epoch ", first_epoch, one_device ? ", one device" : "");
  constexpr i64 n = 5000;
  auto o = team_options(ranks, first_epoch);
  if (one_device) o.devices = {0};
  Team team(o);
  CHECK(team.shares_devices() == (one_device && ranks > 1));
  TeamSlots slots = team.slots("sums", K, blocks);
  auto in = team.array<double>(n * K), out = team.array<double>(i64(blocks) * K);
  std::vector<double> wanted(K, 0.0), found(std::size_t(blocks) * K), first;
  for (int r = 0; r < ranks; r++) {
    auto mine = random_values(n * K, 10 + r);
    team.write(r, in, mine.data(), n * K);
    for (i64 i = 0; i < n * K; i++) wanted[std::size_t(i % K)] += mine[std::size_t(i)];
  }
  team.run([&](TeamRank& rank) {
    const DeviceTeam& t = rank.team();
    rank.load(start_sums<K>);
    rank.load(finish_sums<K>);
    for (int twice = 0; twice < 3; twice++) {
      rank.barrier();
      rank.launch({.blocks = blocks}, start_sums<K>, t, slots, t.mine(in), n);
      if (one_device) {  // what sends ends before what receives begins
        rank.wait();
        rank.barrier();
      }
      rank.launch({.blocks = blocks}, finish_sums<K>, t, slots, t.mine(out));
      rank.wait();
    }
  });
  for (int r = 0; r < ranks; r++) {
    team.read(r, out, found.data(), i64(found.size()));
    if (r == 0) first.assign(found.begin(), found.begin() + K);
    for (std::size_t i = 0; i < found.size(); i++) {
      CHECK_NEAR(found[i], wanted[i % K], 1e-11);
      CHECK(std::bit_cast<u64>(found[i]) == std::bit_cast<u64>(first[i % K]));
    }
  }
}

// --- of a grid that stays --------------------------------------------------------------------------------------------------

/// Thread i of all brings i + k + round. Blocks write into the next rank's memory before a sum that orders, and look what
/// another block got there behind it; a second sum keeps them from overwriting what is still looked at. Counts what is wrong.
template <int K>
__global__ void sum_in_rounds(const __grid_constant__ DeviceTeam t, TeamSlots s, cuda::Symmetric<double> words, u32* wrong,
                              int rounds) {
  u32 epoch = cuda::last_epoch(t, s);
  const int here = gridDim.x * blockDim.x, all = here * t.ranks, before = (t.rank + t.ranks - 1) % t.ranks;
  const int i = t.rank * here + blockIdx.x * blockDim.x + threadIdx.x;
  bool right = true;
  for (int round = 0; round < rounds; round++) {
    double sums[K], threads[K];
    for (int k = 0; k < K; k++) sums[k] = double(i + k + round), threads[k] = 1;
    if (threadIdx.x == blockDim.x - 1) t.at((t.rank + 1) % t.ranks, words)[blockIdx.x] = 1000.0 * round + t.rank;
    if (!cuda::grid_all_reduce<K, true>(t, s, ++epoch, sums)) return;
    for (int k = 0; k < K; k++) right &= sums[k] == double(all) * (all - 1) / 2 + double(all) * (k + round);
    if (threadIdx.x == 0) right &= t.mine(words)[(blockIdx.x + 1) % gridDim.x] == 1000.0 * round + before;
    if (!cuda::grid_all_reduce<K>(t, s, ++epoch, threads)) return;
    for (int k = 0; k < K; k++) right &= threads[k] == all;
  }
  if (!right) atomicAdd(wrong, 1u);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    cuda::keep_epoch(t, s, epoch);
    atomicAdd(wrong, 0x10000u);  // it came to its end
  }
}

template <int K>
void check_grid_sums(int ranks, int blocks, u32 first_epoch) {
  NOTE(K, " values, ", ranks, " ranks, ", blocks, " blocks, from epoch ", first_epoch);
  Team team(team_options(ranks, first_epoch));
  TeamSlots slots = team.slots("sums of a grid", K, 2 * blocks);
  auto words = team.array<double>(blocks);
  auto wrong = team.array<u32>(1);
  for (int twice = 0; twice < 2; twice++)
    team.run([&](TeamRank& rank) {
      rank.load(sum_in_rounds<K>);
      rank.barrier();
      rank.launch({.blocks = blocks, .resident = true}, sum_in_rounds<K>, rank.team(), slots, words, rank.team().mine(wrong),
                  50);
    });
  for (int r = 0; r < ranks; r++) {
    u32 found = 0;
    team.read(r, wrong, &found, 1);
    CHECK(found == 0x20000u);
  }
}

}  // namespace

TEST("team: a grid that stays sums over all ranks, and what was written before is seen behind it") {
  for (int ranks : test::waiting_ranks())
    for (u32 first : beginnings)
      for (int blocks : {1, 2, 132, 200}) {
        check_grid_sums<1>(ranks, blocks, first);
        check_grid_sums<5>(ranks, blocks, first);
      }
}

TEST("team: sums of all ranks inside a kernel have the host's bits") {
  for (int ranks : test::waiting_ranks())
    for (u32 first : beginnings) {
      check_all_reduce<1>(ranks, first);
      check_all_reduce<3>(ranks, first);
      check_all_reduce<8>(ranks, first);
      check_all_reduce<16>(ranks, first);
    }
}

TEST("team: sums started in one kernel and finished in the next, by grids of any size") {
  for (int ranks : test::waiting_ranks())
    for (u32 first : beginnings)
      for (int blocks : {1, 2, 37, 300}) {
        check_tail_to_head<1>(ranks, blocks, false, first);
        check_tail_to_head<5>(ranks, blocks, false, first);
        check_tail_to_head<16>(ranks, blocks, false, first);
      }
}

TEST("team: ranks that share a device reduce, where what sends ends before what receives begins") {
  test::need_gpu();
  for (int ranks : {2, 4, 11}) check_tail_to_head<3>(ranks, 20, true, 0xfffffffeu);
}

TEST("team: packets are never torn (a short litmus test)") {
  for (int ranks : test::waiting_ranks())
    for (int stride : {1, 8}) {
      NOTE(ranks, " ranks, stride ", stride);
      cuda::Litmus l = cuda::exchange_packets(team_options(ranks), 1'000'000, stride, 0xfffffff0u);
      CHECK(l.packets >= 1'000'000);
      CHECK(l.reads >= l.packets);
      CHECK(l.violations == 0);
    }
}
