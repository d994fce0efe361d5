// Two kernels of one's own on several GPUs, without recordings: a rod that cools down, cut into pieces. Each step a kernel
// writes its ends into the neighbours' ghosts and raises a flag there, and starts the sum of the rod's heat in its tail; the
// next step finishes it in its head, and all GPUs stop at the same step. Steps are replayed from a graph; no host takes part.
//
//   build/examples/heat_by_hand [cells of each GPU [GPUs]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/runtime/cuda/team.hpp"

using namespace sordino;
using namespace sordino::cuda;

namespace {

constexpr int steps = 50;  // in a graph

/// Cells 1 to n of a rank, between two ghosts; two copies that take turns.
struct Rod {
  Symmetric<double> cells[2];
  TeamSignals ends;
  TeamSlots heat;
  i32 n;
};

/// What lies beyond the ends of the whole rod is cold.
__device__ bool ends_have_come(const DeviceTeam& t, const Rod& rod, u32 epoch) {
  bool lost = false;
  if (i32 side = threadIdx.x; side < 2) {
    i32 neighbour = t.rank + 2 * side - 1;
    if (neighbour >= 0 && neighbour < t.ranks)
      lost = !wait_signal(t, rod.ends, neighbour, epoch - 1);  // raised in the step before
  }
  return !__syncthreads_or(lost);
}

/// One step from copy `from` to the other. Who writes a ghost knows that its old value is no longer needed: all ranks have
/// finished the sum that was started after it was read.
__global__ void step(const __grid_constant__ DeviceTeam t, const __grid_constant__ Rod rod, int from, double* left) {
  double heat[1];
  if (!finish_reduction<1>(t, rod.heat, heat)) return;  // of the step before
  u32 epoch = last_epoch(t, rod.heat);                  // counts the steps, on all ranks alike
  if (!ends_have_come(t, rod, epoch)) return;
  const double* u = t.mine(rod.cells[from]);
  double* v = t.mine(rod.cells[1 - from]);
  double sum[1] = {};
  for (i32 i = 1 + blockIdx.x * blockDim.x + threadIdx.x; i <= rod.n; i += gridDim.x * blockDim.x) {
    double cell = v[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    sum[0] += cell;
    if (i32 below = t.rank - 1; i == 1 && below >= 0) {
      t.at(below, rod.cells[1 - from])[rod.n + 1] = cell;
      signal(t, rod.ends, below, epoch);
    }
    if (i32 above = t.rank + 1; i == rod.n && above < t.ranks) {
      t.at(above, rod.cells[1 - from])[0] = cell;
      signal(t, rod.ends, above, epoch);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *left = heat[0];
  start_reduction<1>(t, rod.heat, sum);
}

/// A rod as warm as 1 everywhere; its first sum.
__global__ void begin(const __grid_constant__ DeviceTeam t, const __grid_constant__ Rod rod) {
  double sum[1] = {};
  for (i32 i = blockIdx.x * blockDim.x + threadIdx.x; i < rod.n + 2; i += gridDim.x * blockDim.x) {
    bool outside = (t.rank == 0 && i == 0) || (t.rank == t.ranks - 1 && i == rod.n + 1);
    t.mine(rod.cells[0])[i] = outside ? 0 : 1;
    if (i > 0 && i <= rod.n) sum[0]++;
  }
  start_reduction<1>(t, rod.heat, sum);
}

void cool(TeamRank& rank, const Rod& rod, double* left) {
  const DeviceTeam& t = rank.team();
  const Grid grid{.blocks = std::min(264, (rod.n + block_threads - 1) / block_threads)};
  rank.load(begin);
  rank.load(step);
  rank.launch(grid, begin, t, rod);
  cudaGraph_t captured;
  cudaGraphExec_t graph;
  call("cudaStreamBeginCapture", cudaStreamBeginCapture(rank.stream(), cudaStreamCaptureModeThreadLocal));
  for (int k = 0; k < steps; k++) rank.launch(grid, step, t, rod, k % 2, left);
  call("cudaStreamEndCapture", cudaStreamEndCapture(rank.stream(), &captured));
  call("cudaGraphInstantiate", cudaGraphInstantiate(&graph, captured, 0));
  rank.wait();
  rank.barrier();  // all are loaded: from here on kernels wait for each other
  for (int k = 0; k < 40; k++) call("cudaGraphLaunch", cudaGraphLaunch(graph, rank.stream()));
  rank.wait();
  cudaGraphExecDestroy(graph);
  cudaGraphDestroy(captured);
}

/// The same on the host.
double cooled(i64 n, int count) {
  std::vector<double> u(std::size_t(n) + 2, 1.0), v(u);
  u.front() = u.back() = v.front() = v.back() = 0;
  double sum = double(n);
  for (int k = 0; k < count; k++) {
    double next = 0;
    for (std::size_t i = 1; i <= std::size_t(n); i++) next += v[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    if (k + 1 < count) sum = next;
    std::swap(u, v);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) try {
  if (auto found = device_report(); !found.reason.empty()) {
    std::printf("no GPU: %s\n", found.reason.c_str());
    return 77;
  }
  i32 n = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (n < 2) bad_argument("a GPU takes at least 2 cells");
  Team team({.ranks = argc > 2 ? std::atoi(argv[2]) : 0, .window = std::size_t(n) * 16 + (1 << 20)});
  if (team.shares_devices()) bad_argument("kernels that wait for each other take a GPU each");
  Rod rod{.cells = {team.array<double>(n + 2), team.array<double>(n + 2)},
          .ends = team.signals("the ends of a rod"),
          .heat = team.slots("the heat of a rod", 1, 264),
          .n = n};
  auto left = team.array<double>(1);
  team.run([&](TeamRank& rank) { cool(rank, rod, rank.team().mine(left)); });
  double heat = 0, wanted = cooled(i64(n) * team.size(), 40 * steps);
  team.read(team.size() - 1, left, &heat, 1);
  std::printf("%d GPUs, %d cells each: after %d steps a heat of %.12g is left (host: %.12g)\n", team.size(), n, 40 * steps,
              heat, wanted);
  return std::abs(heat - wanted) < 1e-9 * wanted ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "heat_by_hand: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
