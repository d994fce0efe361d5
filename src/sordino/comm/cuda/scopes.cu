// Small messages, one behind the other, put by one thread, one warp or a whole block, each with its signal: Figure 6 of the
// paper on triangular solves with NVSHMEM (Ding et al., 2020).
#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int threads = 256;
constexpr int places = 64;  // messages of a block that lie beside each other at the receiver
constexpr int most_blocks = 132;
constexpr i64 most_words = 512;  // of a message

struct Boxes {
  Symmetric<double> from, to;  // [blocks][places][words]
  Symmetric<u32> flags;        // [blocks] one a line
  i32 channel;
};

/// Each block of rank 0 sends its messages to the last rank, whose block waits for the last one and answers.
template <Scope scope>
__global__ void __launch_bounds__(threads) send_messages(const __grid_constant__ DeviceTeam t, const __grid_constant__ Boxes b,
                                                         i64 words, u32 first, u32 messages) {
  i32 other = t.ranks - 1 - t.rank;
  u32 *flag = t.at(other, b.flags) + blockIdx.x * flag_stride, *mine = t.mine(b.flags) + blockIdx.x * flag_stride;
  if (t.rank > 0) {
    if (threadIdx.x == 0 && wait_flag(t, mine, first + messages, b.channel, 0)) raise(flag, first + messages);
    return;
  }
  constexpr int sharers = scope == Scope::thread ? 1 : scope == Scope::warp ? 32 : threads;
  if (threadIdx.x >= sharers) return;
  for (u32 m = 1; m <= messages; m++) {
    i64 at = (i64(blockIdx.x) * places + m % places) * words;
    put<scope>(t.at(other, b.to) + at, t.mine(b.from) + at, words);
    if constexpr (scope == Scope::block)
      __syncthreads();
    else
      __syncwarp(sharers == 1 ? 1u : ~0u);
    if (threadIdx.x == 0) raise(flag, first + m);
  }
  if (threadIdx.x == 0) wait_flag(t, mine, first + messages, b.channel, other);
}

struct Sending {
  const char* name;
  void (*kernel)(DeviceTeam, Boxes, i64, u32, u32);
};

CommFigure time_sending(const CommPlan& plan, Team& team, const Boxes& boxes, const Sending& s, int blocks, i64 words,
                        u32& epoch) {
  constexpr u32 messages = 2000;
  constexpr int batches = 5;
  const i64 all = i64(blocks) * places * words;
  const int last = team.size() - 1;
  std::vector<double> wanted(std::size_t(all), 0.0), zeros(std::size_t(all), 0.0);
  for (i64 i = 0; i < all; i++) wanted[std::size_t(i)] = noise(epoch, u64(words), u64(i));
  team.write(0, boxes.from, wanted.data(), all);
  team.write(last, boxes.to, zeros.data(), all);
  BatchTimer timer(team.size(), batches, 1);
  team.run([&](TeamRank& rank) {
    rank.load(s.kernel);
    u32 first = epoch;
    timer.run(rank, [&] {
      if (!is_of_pair(rank)) return;
      rank.launch({.blocks = blocks, .threads = threads, .resident = true}, s.kernel, rank.team(), boxes, words, first,
                  messages);
      first += messages;
    });
  });
  epoch += messages * (batches + 1);
  check_on_each(team, [&](int rank) {
    if (rank != last) return;
    std::vector<double> found(std::size_t(all), 0.0);
    team.read(rank, boxes.to, found.data(), all);
    if (found != wanted) throw Error(Errc::device, "messages put by one " + std::string(s.name) + " arrived wrong");
  });
  CommFigure f{
      .what = "scopes", .way = "one " + std::string(s.name) + " of each block", .ranks = team.size(), .bytes = words * 8};
  timer.add_to(f, plan);
  f.median /= messages;
  f.p99 /= messages;
  f.bandwidth = double(words) * 8 * blocks / f.median;
  f.remark = std::to_string(blocks) + (blocks == 1 ? " block" : " blocks") + ", GB/s of all";
  return f;
}

}  // namespace

std::vector<CommFigure> time_scopes(const CommPlan& plan) {
  const int ranks = ranks_of_pair(plan);
  if (ranks == 0) return {takes_two_devices("scopes")};
  const Sending sendings[] = {
      {"thread", send_messages<Scope::thread>}, {"warp", send_messages<Scope::warp>}, {"block", send_messages<Scope::block>}};
  TeamOptions options = team_options(plan, ranks);
  options.window = 2 * std::size_t(most_blocks) * places * most_words * 8 + (1 << 20);
  Team team = team_for(plan, options);
  Boxes boxes{team.array<double>(most_blocks * places * most_words), team.array<double>(most_blocks * places * most_words),
              team.array<u32>(most_blocks * flag_stride), team.signals("small messages").channel};
  u32 epoch = 0;
  std::vector<CommFigure> figures;
  for (int blocks : {1, most_blocks})
    for (i64 words : {i64(32), i64(64), i64(128), most_words})
      for (auto& s : sendings) figures.push_back(time_sending(plan, team, boxes, s, blocks, words, epoch));
  return figures;
}

}  // namespace sordino::cuda
