// Latency inside one kernel, epoch by epoch, each needing the result of the one before: all-reduces, and a value to and fro.
#include <bit>
#include <cstdio>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

/// What a loop leaves behind: its last results, a hash of all of them, and how to turn clock ticks into seconds.
struct Left {
  double value[most_values];
  u64 hash[most_values];
  u64 clock[2], ns[2];

  double seconds_per_tick() const { return double(ns[1] - ns[0]) * 1e-9 / double(clock[1] - clock[0]); }
};

__device__ void tell_time(Left& left, int which) {
  left.clock[which] = u64(clock64());
  left.ns[which] = nanoseconds();
}

/// One warp. Each epoch's values are a quarter of the last sums plus noise: neither can be known before the sums have come.
template <int K>
__global__ void __launch_bounds__(32) reduce_all(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s,
                                                 u32 epochs, u32* ticks, Left* left) {
  int k = threadIdx.x;
  u32 epoch = last_epoch(t, s);
  double value = k < K ? noise(t.rank, k, 0) : 0;
  u64 hash = 0;
  if (k == 0) tell_time(*left, 0);
  u32 before = u32(clock64());
  for (u32 e = 1; e <= epochs; e++) {
    push_values<K>(t, s, ++epoch, value);  // all_reduce, with what does not depend on it in between
    double add = noise(t.rank, k, e);
    if (!take_sums<K, true>(t, s, epoch, value)) return;
    u32 now = u32(clock64());
    if (k == 0) ticks[e - 1] = now - before;
    before = now;
    hash = hashed(hash, __double_as_longlong(value));
    if (e < epochs) value = value * 0.25 + add;
  }
  if (k == 0) {
    tell_time(*left, 1);
    keep_epoch(t, s, epoch);
  }
  if (k < K) {
    left->value[k] = value;
    left->hash[k] = hash;
  }
}

/// What the loop above leaves on every rank.
Left expected(int ranks, int values, u32 epochs) {
  Left x{};
  for (int k = 0; k < values; k++) {
    std::vector<double> v;
    for (int r = 0; r < ranks; r++) v.push_back(noise(u64(r), u64(k), 0));
    for (u32 e = 1; e <= epochs; e++) {
      double sum = 0;
      for (double part : v) sum += part;
      x.value[k] = sum;
      x.hash[k] = hashed(x.hash[k], std::bit_cast<u64>(sum));
      for (int r = 0; r < ranks; r++) v[std::size_t(r)] = sum * 0.25 + noise(u64(r), u64(k), e);
    }
  }
  return x;
}

void check(const Left& left, const Left& wanted, int values, int rank) {
  for (int k = 0; k < values; k++)
    if (left.hash[k] != wanted.hash[k]) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "the sums of value %d on rank %d are not those of the host to the bit: the last is %.17g, not %.17g", k,
                    rank, left.value[k], wanted.value[k]);
      throw Error(Errc::device, text);
    }
}

/// Of each epoch, by the ticks that a rank has left.
std::vector<double> epoch_seconds(Team& team, int rank, const Symmetric<Left>& left, const Symmetric<u32>& ticks) {
  Left found;
  std::vector<u32> counted(std::size_t(ticks.count));
  team.read(rank, left, &found, 1);
  team.read(rank, ticks, counted.data(), ticks.count);
  std::vector<double> seconds;
  for (u32 c : counted) seconds.push_back(c * found.seconds_per_tick());
  return seconds;
}

template <int K>
CommFigure time_values(const CommPlan& plan, int ranks) {
  u32 epochs = u32(plan.epochs > 0 ? plan.epochs : 1'000'000);
  TeamOptions options = team_options(plan, ranks);
  options.window = std::size_t(epochs) * sizeof(u32) + (1 << 20);
  Team team = team_for(plan, options);
  TeamSlots slots = team.slots("an all-reduce", K);
  auto ticks = team.array<u32>(epochs);
  auto left = team.array<Left>(1);
  for (u32 n : {1000u, epochs})  // the first warms up: clocks, links
    team.run([&](TeamRank& rank) {
      rank.load(reduce_all<K>);
      rank.barrier();
      const DeviceTeam& t = rank.team();
      rank.launch({.threads = 32}, reduce_all<K>, t, slots, std::min(n, epochs), t.mine(ticks), t.mine(left));
      rank.wait();
    });
  CommFigure f{.what = "all-reduce", .way = "in a kernel", .ranks = ranks, .bytes = 8 * K};
  Left wanted = expected(ranks, K, epochs);
  check_on_each(team, [&](int r) {
    Left found;
    team.read(r, left, &found, 1);
    check(found, wanted, K, r);
  });
  for (int r = team.first_rank(); r < team.first_rank() + team.local_ranks(); r++)
    add_samples(f, epoch_seconds(team, r, left, ticks));
  agree(plan, f);
  if (plan.processes) f.remark = layout(plan, ranks);
  return f;
}

/// One thread of the first and of the last rank: a value goes to and fro, and the last one counts it up.
__global__ void play(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s, u32 epochs, u32* ticks,
                     Left* left) {
  const i32 other = t.ranks - 1 - t.rank;
  u32 epoch = last_epoch(t, s);
  double value = 0;
  tell_time(*left, 0);
  u32 before = u32(clock64());
  for (u32 e = 1; e <= epochs; e++) {
    epoch++;
    if (t.rank == 0) send(t, s, other, epoch, value);
    if (!receive(t, s, other, epoch, value)) return;
    if (t.rank > 0) send(t, s, other, epoch, ++value);
    u32 now = u32(clock64());
    ticks[e - 1] = now - before;
    before = now;
  }
  tell_time(*left, 1);
  keep_epoch(t, s, epoch);
  left->value[0] = value;
}

}  // namespace

std::vector<CommFigure> time_all_reduce_in_kernel(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 1)) {
    figures.push_back(time_values<1>(plan, ranks));
    figures.push_back(time_values<2>(plan, ranks));
    figures.push_back(time_values<4>(plan, ranks));
    figures.push_back(time_values<8>(plan, ranks));
    figures.push_back(time_values<16>(plan, ranks));
  }
  return figures;
}

std::vector<CommFigure> time_ping_pong(const CommPlan& plan) {
  const int ranks = ranks_of_pair(plan);
  if (ranks == 0) return {{.what = "ping-pong", .way = "in a kernel", .remark = "takes two devices that reach each other"}};
  u32 epochs = u32(plan.epochs > 0 ? plan.epochs : 1'000'000);
  TeamOptions options = team_options(plan, ranks);
  options.window = std::size_t(epochs) * sizeof(u32) + (1 << 20);
  Team team = team_for(plan, options);
  TeamSlots slots = team.slots("a value", 1);
  auto ticks = team.array<u32>(epochs);
  auto left = team.array<Left>(1);
  for (u32 n : {1000u, epochs})
    team.run([&](TeamRank& rank) {
      rank.load(play);
      rank.barrier();
      const DeviceTeam& t = rank.team();
      if (is_of_pair(rank)) rank.launch({.threads = 1}, play, t, slots, std::min(n, epochs), t.mine(ticks), t.mine(left));
      rank.wait();
    });
  check_on_each(team, [&](int r) {
    Left found;
    team.read(r, left, &found, 1);
    if (r == 0 && found.value[0] != epochs) throw Error(Errc::device, "a value that went to and fro came back wrong");
  });
  CommFigure f{.what = "ping-pong", .way = "in a kernel, one way", .ranks = ranks, .bytes = 8};
  if (team.first_rank() == 0) add_samples(f, epoch_seconds(team, 0, left, ticks));
  f.median /= 2;
  f.p99 /= 2;
  agree(plan, f);
  if (plan.processes) f.remark = layout(plan, ranks);
  return {f};
}

}  // namespace sordino::cuda
