// Ways to run a loop, each with the same conjugate gradients (comm/cuda/loops_program.hpp): recorded, launch by launch, as
// chunks in a graph, and as a WHILE graph; and as one cooperative kernel a GPU that stays for all iterations.
//
// What the kernel can do that a graph cannot: a thread keeps its rows of x, r, p and q in registers. Then only what neighbours
// read goes to memory. Floor of an iteration, in bytes a row, and in points where all blocks of all GPUs wait for each other:
//
//                          in memory     in registers     points
//   as recorded            80            8 (p)            3: two sums, and a barrier behind the halo of p
//   direction in product   72            16 (r, p)        2: two sums, of which one is the barrier behind the halo of r
//
// "Direction in product": whoever needs p of a neighbour computes it, r + beta p, from what was there before the sum; ghosts of
// p are kept by their reader, and only r is sent. (Commands could be fused like this, too, and save a launch; those of the
// library are not.) There p needs two copies in memory, for a neighbour may still read the old one.
//
// Nothing is overwritten too early: who stores r, or p where there is one copy, has finished a sum that was started after its
// last reading.
#include <algorithm>
#include <string>

#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/loops_program.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

using loops::Slab;

// --- the kernel that stays ------------------------------------------------------------------------------------------

struct Cube {
  Slab slab = {};
  i32 above_of_lower = 0;               // where the rank below has its ghosts of my first plane
  Symmetric<double> x = {}, q = {};     // [rows]
  Symmetric<double> r = {}, p[2] = {};  // [rows + ghosts]
  Symmetric<double> history = {};       // [iterations] r'r; and how many there are
  TeamSlots sums = {};
  i32 iterations = 0;
};

/// A vector's own rows: R of each thread in registers, or, if R is 0, all in memory.
template <int R>
struct Own {
  double value[R];
  __device__ double& at(int j, i32) { return value[j]; }
};
template <>
struct Own<0> {
  double* value;
  __device__ double& at(int, i32 i) { return value[i]; }
};

/// Calls row(j, i) for this thread's rows: i, its j-th.
template <int R, int threads, class Row>
__device__ __forceinline__ void each_row(i32 rows, Row row) {
  if constexpr (R > 0) {
    const i32 first = blockIdx.x * (threads * R) + threadIdx.x;
#pragma unroll
    for (int j = 0; j < R; j++)
      if (i32 i = first + j * threads; i < rows) row(j, i);
  } else {
    for (i32 i = blockIdx.x * threads + threadIdx.x; i < rows; i += gridDim.x * threads) row(0, i);
  }
}

/// Into the ghosts of the ranks below and above, if row i lies next to them.
__device__ inline void send_row(const DeviceTeam& t, const Cube& c, const Symmetric<double>& array, i32 i, double value) {
  const Slab& s = c.slab;
  if (s.below >= 0 && i < s.plane) t.at(t.rank - 1, array)[c.above_of_lower + i] = value;
  if (s.above >= 0 && i >= s.rows - s.plane) t.at(t.rank + 1, array)[i + s.plane] = value;
}

/// The new direction, from the residual and the old one.
struct Turned {
  const double *r, *p;
  double beta;
  __device__ double operator[](i32 i) const { return r[i] + beta * p[i]; }
};

/// Own ghosts next to row i: those of `to` get what `from` says.
template <class From>
__device__ inline void keep_ghosts(const Slab& s, i32 i, double* to, const From& from) {
  if (i32 k = s.below + i; s.below >= 0 && i < s.plane) to[k] = from[k];
  if (i32 k = s.above + i + s.plane - s.rows; s.above >= 0 && i >= s.rows - s.plane) to[k] = from[k];
}
struct Zeros {
  __device__ double operator[](i32) const { return 0; }
};

/// What a kernel that stays does, as its threads see it. A false result: a wait was lost.
template <int R, int threads, bool fused>
struct Staying {
  const DeviceTeam& t;
  const Cube& c;
  u32 epoch;
  double* now = t.mine(c.p[0]);                   // the direction, as neighbours read it;
  double* before = fused ? t.mine(c.p[1]) : now;  //   the old one
  double* residual = t.mine(c.r);                 // likewise
  Own<R> x = {}, r = {}, p = {}, q = {};
  double rho = 0, alpha = 0, beta = 0;

  __device__ Staying(const DeviceTeam& t, const Cube& c) : t(t), c(c), epoch(last_epoch(t, c.sums)) {
    if constexpr (R == 0) x.value = t.mine(c.x), r.value = residual, p.value = before, q.value = t.mine(c.q);
  }

  template <class Row>
  __device__ __forceinline__ void rows(Row row) {
    each_row<R, threads>(c.slab.rows, row);
  }
  template <bool orders>
  __device__ bool sum(double (&value)[1]) {
    return grid_all_reduce<1, orders, threads>(t, c.sums, ++epoch, value);
  }

  __device__ bool begin() {
    double sums[1] = {};
    rows([&](int j, i32 i) {
      double b = loops::charge(c.slab.first_row + i);
      x.at(j, i) = 0;
      p.at(j, i) = 0;
      r.at(j, i) = b;
      if constexpr (fused) {
        before[i] = 0;
        keep_ghosts(c.slab, i, before, Zeros{});
        show_residual(i, b);
      }
      sums[0] += b * b;
    });
    if (!sum<fused>(sums)) return false;
    rho = sums[0];
    return true;
  }

  /// To neighbours, here and on other ranks.
  __device__ void show_residual(i32 i, double value) {
    if constexpr (R > 0) residual[i] = value;
    send_row(t, c, c.r, i, value);
  }

  /// Both at once, from what neighbours knew before the last sum; their old directions stay until the next one.
  __device__ bool direction_in_product() {
    const Turned turned{residual, before, beta};
    double pq[1] = {};
    rows([&](int j, i32 i) {
      double old = p.at(j, i), at = x.at(j, i), own = r.at(j, i) + beta * old, product = c.slab.times(i, own, turned);
      keep_ghosts(c.slab, i, now, turned);
      x.at(j, i) = at + alpha * old;
      if constexpr (R > 0) p.at(j, i) = own;
      now[i] = own;
      q.at(j, i) = product;
      pq[0] += own * product;
    });
    double* newest = now;
    now = before;
    before = newest;
    if constexpr (R == 0) p.value = newest;
    return take_step(pq);
  }

  __device__ bool direction_and_product() {
    rows([&](int j, i32 i) {
      double old = p.at(j, i), at = x.at(j, i), own = r.at(j, i) + beta * old;
      x.at(j, i) = at + alpha * old;
      p.at(j, i) = own;
      if constexpr (R > 0) now[i] = own;
      send_row(t, c, c.p[0], i, own);
    });
    double nothing[1] = {}, pq[1] = {};
    if (!sum<true>(nothing)) return false;  // a barrier of all ranks
    rows([&](int j, i32 i) {
      double own = p.at(j, i), product = c.slab.times(i, own, now);
      q.at(j, i) = product;
      pq[0] += own * product;
    });
    return take_step(pq);
  }

  __device__ bool take_step(double (&pq)[1]) {
    if (!sum<false>(pq)) return false;
    alpha = rho / pq[0];
    return true;
  }

  __device__ bool reduce_residual() {
    double sums[1] = {};
    rows([&](int j, i32 i) {
      double left = r.at(j, i) - alpha * q.at(j, i);
      r.at(j, i) = left;
      if constexpr (fused) show_residual(i, left);
      sums[0] += left * left;
    });
    if (!sum<fused>(sums)) return false;
    beta = sums[0] / rho;
    rho = sums[0];
    return true;
  }

  __device__ void end(i32 iterations) {
    rows([&](int j, i32 i) { t.mine(c.x)[i] = x.at(j, i) + alpha * p.at(j, i); });
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    t.mine(c.history)[c.iterations] = iterations;
    keep_epoch(t, c.sums, epoch);
  }
};

/// Blocks of 512 threads get a multiprocessor each, and twice the registers a thread.
constexpr int at_once(int threads) { return threads == 512 ? 1 : 1024 / threads; }

template <int R, int threads, bool fused>
__global__ void __launch_bounds__(threads, at_once(threads)) iterate(const __grid_constant__ DeviceTeam t,
                                                                     const __grid_constant__ Cube c) {
  Staying<R, threads, fused> cg(t, c);
  if (!cg.begin()) return;
  i32 k = 0;
  for (; k < c.iterations && cg.rho > 0; k++) {
    if (fused ? !cg.direction_in_product() : !cg.direction_and_product()) return;
    if (!cg.reduce_residual()) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) t.mine(c.history)[k] = cg.rho;
  }
  cg.end(k);
}

struct Variant {
  void (*kernel)(DeviceTeam, Cube);
  int rows, threads;  // rows of a thread in registers; 0: none

  template <int R, int threads, bool fused>
  static Variant of() {
    return {iterate<R, threads, fused>, R, threads};
  }
  /// Blocks for so many rows on a device; 0: they cannot all be there at once.
  int blocks(i32 of_rows, int device) const {
    int resident = 0, multiprocessors = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, 0));
    int of_block = threads * std::max(rows, 1), wanted = (of_rows + of_block - 1) / of_block;
    int most = std::min(resident * multiprocessors, most_blocks);
    return wanted <= most ? wanted : rows == 0 ? most : 0;
  }
  static constexpr int most_blocks = 2048;
};

template <bool fused>
std::vector<Variant> variants() {
  return {Variant::of<0, 256, fused>(),  Variant::of<4, 256, fused>(), Variant::of<1, 512, fused>(),
          Variant::of<2, 512, fused>(),  Variant::of<4, 512, fused>(), Variant::of<8, 512, fused>(),
          Variant::of<2, 1024, fused>(), Variant::of<4, 1024, fused>()};
}

// --- the comparison -------------------------------------------------------------------------------------------------

class Comparison {
 public:
  Comparison(const CommPlan& plan, int bits, int ranks) : plan_(plan), bits_(bits), ranks_(ranks) {
    // Long enough that what a replay costs is little of it, and ended long before nothing is left of the residual.
    i64 longest = bits <= 6 ? 400 : bits == 7 ? 100 : 40, epochs = plan.epochs > 0 ? plan.epochs : longest * most_replays;
    iterations_ = int(std::min(epochs, longest));
    replays_ = int(std::clamp<i64>(epochs / iterations_, 1, most_replays));
    first_sum_ = loops::first_sum(bits);
  }

  std::vector<CommFigure> run() {
    add("launch by launch", recorded(Looping::launches), "80 bytes a row, 3 points");
    add("chunks in a graph", recorded(Looping::graph), "80 bytes a row, 3 points");
    add("WHILE graph", recorded(Looping::while_graph), "80 bytes a row, 3 points");
    add("recorded, in a kernel that stays", recorded(Looping::resident), "80 bytes a row, 3 points");
    TeamOptions options = team_options(plan_, ranks_);
    const Slab slab(bits_, 0, ranks_);
    const i64 own = slab.rows, all = own + 2 * slab.plane;
    options.window = std::size_t(2 * own + 3 * all) * sizeof(double) + (1 << 20);
    Team team(options);
    Cube cube{.slab = slab, .x = team.array<double>(own), .q = team.array<double>(own), .r = team.array<double>(all)};
    for (auto& p : cube.p) p = team.array<double>(all);
    cube.history = team.array<double>(iterations_ + 1);
    cube.sums = team.slots("sums of a kernel that stays", 1, 2 * Variant::most_blocks);
    cube.iterations = iterations_;
    add_fastest("a kernel that stays, as recorded", team, cube, variants<false>(), "3 points");
    add_fastest("a kernel that stays, direction in product", team, cube, variants<true>(), "2 points");
    return figures_;
  }

 private:
  static constexpr i64 most_replays = 5;

  std::vector<double> recorded(Looping looping) {
    Options options;
    options.looping = looping;
    auto gpus = engine_for(plan_, options, ranks_);
    overlap::Stopwatch watch(ranks_, replays_, iterations_);
    std::vector<std::vector<double>> histories(watch.seconds.size());
    gpus->run([&](Rank& s) { histories[std::size_t(s.id())] = loops::cg(s, bits_, watch); });
    for (auto& h : histories) check(h, "recorded");
    return slowest_of(watch.seconds);
  }

  /// The fastest variant of those that fit.
  void add_fastest(const std::string& way, Team& team, const Cube& cube, const std::vector<Variant>& all, std::string remark) {
    std::vector<double> best;
    std::string how;
    for (const Variant& v : all) {
      int blocks = Variant::most_blocks;
      for (int r = 0; r < ranks_; r++) blocks = std::min(blocks, v.blocks(cube.slab.rows, team.device(r)));
      if (blocks == 0) continue;
      std::vector<double> seconds = stayed(team, cube, v, blocks, way);
      if (!best.empty() && quantile(seconds, 0.5) >= quantile(best, 0.5)) continue;
      best = seconds;
      how = (v.rows ? std::to_string(v.rows) + " rows a thread in registers, " : std::string("rows in memory, ")) +
            std::to_string(blocks) + " blocks of " + std::to_string(v.threads);
    }
    add(way, best, remark + "; " + how);
  }

  std::vector<double> stayed(Team& team, Cube cube, const Variant& v, int blocks, const std::string& way) {
    BatchTimer timer(ranks_, replays_, 1);
    team.run([&](TeamRank& rank) {
      Cube mine = cube;
      mine.slab = Slab(bits_, rank.id(), ranks_);
      mine.above_of_lower = Slab(bits_, rank.id() - 1, ranks_).above;
      rank.load(v.kernel);
      timer.run(rank,
                [&] { rank.launch({.blocks = blocks, .threads = v.threads, .resident = true}, v.kernel, rank.team(), mine); });
    });
    for (int r = 0; r < ranks_; r++) {
      std::vector<double> found(std::size_t(iterations_) + 1);
      team.read(r, cube.history, found.data(), i64(found.size()));
      found.resize(std::min<std::size_t>(std::size_t(iterations_), std::size_t(found.back())));
      check(found, way + ", " + std::to_string(v.rows) + " rows a thread, " + std::to_string(v.threads) + " threads");
    }
    std::vector<double> seconds = timer.slowest();
    for (double& x : seconds) x /= iterations_;
    return seconds;
  }

  /// All histories are those of the first way, which are those of conjugate gradients by a test on the host.
  void check(const std::vector<double>& history, const std::string& way) {
    if (wanted_.empty()) wanted_ = history;
    loops::require_same_history(history, wanted_, first_sum_, std::size_t(iterations_), way);
  }

  void add(const std::string& way, std::vector<double> seconds, const std::string& remark) {
    CommFigure f{.what = "loops",
                 .way = std::to_string(1 << bits_) + "^3, " + way,
                 .ranks = ranks_,
                 .bytes = i64(8) << 2 * bits_,
                 .remark = remark};
    add_samples(f, std::move(seconds));
    figures_.push_back(f);
  }

  const CommPlan& plan_;
  int bits_, ranks_, iterations_ = 0, replays_ = 0;
  double first_sum_ = 0;
  std::vector<double> wanted_;
  std::vector<CommFigure> figures_;
};

}  // namespace

std::vector<CommFigure> time_loops_of(const CommPlan& plan, const std::vector<int>& bits) {
  enable(loops::Kernels{});
  enable_resident(loops::Kernels{});
  std::vector<CommFigure> figures;
  for (int b : bits)
    for (int ranks : possible_ranks(plan, 1)) {
      if ((1 << b) % (2 * ranks) != 0) continue;  // slabs of equal height, of two planes at least
      auto found = Comparison(plan, b, ranks).run();
      figures.insert(figures.end(), found.begin(), found.end());
    }
  if (figures.empty()) figures.push_back({.what = "loops", .way = "-", .remark = "takes 1, 2, 4 or 8 devices"});
  return figures;
}

std::vector<CommFigure> time_loops(const CommPlan& plan) { return time_loops_of(plan, {4, 5, 6, 7, 8}); }

}  // namespace sordino::cuda
