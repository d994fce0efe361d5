// A reduction as a solver sees it: started in the tail of one kernel, finished in the head of the next, in a replayed graph.
// The same two kernels run without a reduction, with one of their own device alone, and with one of all ranks.
#include <algorithm>
#include <bit>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/replayed.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int pairs = 200;          // of kernels, in a graph
constexpr int unsteady = 10;        // pairs until ranks that began one after the other are in step
constexpr i32 many_rows = 262'144;  // 64^3
constexpr int blocks_per_multiprocessor = 6;

/// A rank's vectors, and where it writes when each pair had its sum, and a hash of all sums.
struct Arrays {
  double *x, *y;
  i32 rows;
  u64* stamps;
  u64* hash;
};

template <bool reduces>
__global__ void __launch_bounds__(block_threads, blocks_per_multiprocessor) produce(const __grid_constant__ DeviceTeam t,
                                                                                    const __grid_constant__ TeamSlots s,
                                                                                    const __grid_constant__ Arrays a) {
  wait_for_previous_command();
  let_next_command_come();
  double sum[1] = {};
  for (i32 i = blockIdx.x * block_threads + threadIdx.x; i < a.rows; i += gridDim.x * block_threads) {
    double x = 0.5 * (a.x[i] + a.y[i]);
    a.x[i] = x;
    sum[0] += x * a.y[i];
  }
  if constexpr (reduces) start_reduction<1>(t, s, sum);
}

template <bool reduces>
__global__ void __launch_bounds__(block_threads, blocks_per_multiprocessor) consume(const __grid_constant__ DeviceTeam t,
                                                                                    const __grid_constant__ TeamSlots s,
                                                                                    const __grid_constant__ Arrays a,
                                                                                    int pair) {
  wait_for_previous_command();
  let_next_command_come();
  double sum[1] = {1};
  if (reduces && !finish_reduction<1>(t, s, sum)) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    a.stamps[pair] = nanoseconds();
    *a.hash = hashed(*a.hash, __double_as_longlong(sum[0]));
  }
  double b = 1 / (1 + fabs(sum[0]));
  for (i32 i = blockIdx.x * block_threads + threadIdx.x; i < a.rows; i += gridDim.x * block_threads)
    a.y[i] = 0.5 * a.y[i] + b * a.x[i];
}

__global__ void fill(Arrays a, int rank) {
  for (i32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.rows; i += gridDim.x * blockDim.x) {
    a.x[i] = noise(rank, 0, i);
    a.y[i] = noise(rank, 1, i);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *a.hash = 0;
}

struct Case {
  Team& team;
  i32 rows;
  bool reduces;
  int replays;
};

/// Replays the graph, and appends how long each steady pair took. Returns the hash of the sums.
template <bool reduces>
u64 replay(TeamRank& rank, const Case& c, const TeamSlots& slots, const Arrays& a, std::vector<double>& seconds) {
  int multiprocessors = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, rank.device()));
  Grid grid{.blocks = std::min((c.rows + block_threads - 1) / block_threads, multiprocessors * blocks_per_multiprocessor)};
  const DeviceTeam& t = rank.team();
  rank.load(produce<reduces>);
  rank.load(consume<reduces>);
  rank.launch({.blocks = 256}, fill, a, rank.id());
  Replayed graph(rank.stream(), [&] {
    for (int pair = 0; pair < pairs; pair++) {
      Grid next = grid;
      next.chained = pair > 0;
      rank.launch(next, produce<reduces>, t, slots, a);
      next.chained = true;
      rank.launch(next, consume<reduces>, t, slots, a, pair);
    }
  });
  rank.wait();
  std::vector<u64> stamps(pairs);
  for (int n = 0; n <= c.replays; n++) {
    rank.barrier();
    graph.launch();
    rank.wait();
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(stamps.data(), a.stamps, pairs * sizeof(u64), cudaMemcpyDeviceToHost, rank.stream()));
    rank.wait();
    for (int pair = unsteady; n > 0 && pair < pairs; pair++)  // the first replay warms up
      seconds.push_back(double(stamps[std::size_t(pair)] - stamps[std::size_t(pair) - 1]) * 1e-9);
  }
  u64 hash = 0;
  call("cudaMemcpyAsync", cudaMemcpyAsync(&hash, a.hash, sizeof hash, cudaMemcpyDeviceToHost, rank.stream()));
  rank.wait();
  return hash;
}

CommFigure time_pairs(const CommPlan& plan, const Case& c, const char* way) {
  Team& team = c.team;
  TeamSlots slots = team.slots("a reduction from tail to head", 1, 4096);
  auto x = team.array<double>(c.rows), y = team.array<double>(c.rows);
  auto stamps = team.array<u64>(pairs), hash = team.array<u64>(1);
  std::vector<std::vector<double>> seconds(std::size_t(team.size()));
  std::vector<u64> hashes(std::size_t(team.size()));
  team.run([&](TeamRank& rank) {
    const DeviceTeam& t = rank.team();
    Arrays a{t.mine(x), t.mine(y), c.rows, t.mine(stamps), t.mine(hash)};
    auto& mine = seconds[std::size_t(rank.id())];
    u64& sums = hashes[std::size_t(rank.id())];
    sums = c.reduces ? replay<true>(rank, c, slots, a, mine) : replay<false>(rank, c, slots, a, mine);
  });
  const u64 first = hashes[std::size_t(team.first_rank())];
  bool same = true;
  for (int r = team.first_rank(); r < team.first_rank() + team.local_ranks(); r++)
    same = same && hashes[std::size_t(r)] == first;
  if (!same_everywhere(plan, same ? first : ~first) || !same)
    throw Error(Errc::device, "sums started in a tail and finished in a head differ between ranks");
  CommFigure f{.what = "tail-to-head", .way = way, .ranks = team.size(), .bytes = 8};
  for (auto& s : seconds) add_samples(f, s);
  agree(plan, f);
  f.remark = std::to_string(c.rows) + " rows";
  return f;
}

/// What a reduction of all ranks adds to the median of the same kernels.
CommFigure over(const CommFigure& all, const CommFigure& base, const char* way) {
  CommFigure f = all;
  f.way = way;
  f.median -= base.median;
  f.p99 -= base.median;
  return f;
}

}  // namespace

std::vector<CommFigure> time_tail_to_head(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  int replays = int(std::max<i64>(1, (plan.epochs > 0 ? plan.epochs : 100'000) / (pairs - unsteady)));
  for (i32 rows : {i32(block_threads), many_rows})
    for (int ranks : possible_ranks(plan, 1)) {
      Team alone(team_options(own_part(plan, ranks), 1)), team = team_for(plan, team_options(plan, ranks));
      auto none = time_pairs(plan, {team, rows, false, replays}, "no reduction");
      auto local = time_pairs(plan, {alone, rows, true, replays}, "of one GPU alone");
      auto all = time_pairs(plan, {team, rows, true, replays}, "of all ranks");
      local.ranks = ranks;  // beside what it is compared with
      for (auto& f :
           {none, local, all, over(all, local, "all ranks, over one GPU alone"), over(all, none, "all ranks, over none")})
        figures.push_back(f);
    }
  return figures;
}

}  // namespace sordino::cuda
