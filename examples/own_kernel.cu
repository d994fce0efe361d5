// A __global__ kernel of one's own as a command: Jacobi's method as in jacobi2d.hpp, but the sweep is a kernel that this
// program launches itself, into the stream that it is given. The messages around it, the sum behind it and the test that ends
// the loop are the library's, and all of it is one CUDA graph. The result is compared with that of jacobi2d's functor.
//
//   build/examples/own_kernel [cells in each direction [ranks]]
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "jacobi2d.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/devices.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"

using namespace sordino;

namespace {

/// Cells of a line, of the slab, and where the neighbours' lines arrive; -1 at the rim.
struct Shape {
  i32 n, rows, below, above;
};

/// v = the mean of u's neighbours, plus the load. A thread a cell: x along a line, y over the lines.
__global__ void sweep(const double* u, double* v, Shape s, double load) {
  i32 x = i32(blockIdx.x * blockDim.x + threadIdx.x), first = i32(blockIdx.y * blockDim.y + threadIdx.y) * s.n, i = first + x;
  if (x >= s.n || first >= s.rows) return;
  double west = x > 0 ? u[i - 1] : 0, east = x + 1 < s.n ? u[i + 1] : 0;
  double south = first > 0 ? u[i - s.n] : s.below >= 0 ? u[s.below + x] : 0;
  double north = first + s.n < s.rows ? u[i + s.n] : s.above >= 0 ? u[s.above + x] : 0;
  v[i] = 0.25 * (west + east + south + north) + load;
}

struct Change {  // the square of what a sweep changed: sums are a functor's
  In u, v;
  SORDINO_HD Sums<1> row(i32 i) { return {(v[i] - u[i]) * (v[i] - u[i])}; }
};
using Kernels = KernelList<Kernel<Change>>;

jacobi2d::Result solve(Rank& s, i32 n, double limit, int max) {
  slabs::Slab slab = slabs::cut(s, n);
  Vec u = s.vector("u", slab.space, &slab.lines), v = s.vector("v", slab.space, &slab.lines);
  Scal change = s.scalar("change");
  Shape shape{n, slab.rows, slab.below, slab.above};
  double load = 0.25 / double((n + 1) * (n + 1));

  DeviceTask task{.name = "sweep", .uses = {{u, Access::ghost}, {v, Access::write}}, .flops = 5.0 * slab.rows};
  task.on_device = [=](const DeviceView& view) {  // is called when the loop is captured, not in every sweep
    dim3 threads(64, 4), blocks(unsigned(n + 63) / 64, unsigned(slab.rows / n + 3) / 4);
    sweep<<<blocks, threads, 0, view.stream()>>>(view.words(u), view.words(v), shape, load);
  };
  Recorded begin = s.record([&] { s.run(Nothing{}, push(u)); });  // vectors begin with zeros
  Recorded loop = s.loop({.vectors = {{v, u}}}, [&] {
    s.device(task, push(v));  // behind the arrival of u's ghosts; and v's outer lines leave behind it
    s.run(Change{u, v}, start(change));
    s.exit_if(jacobi2d::SmallChange{finish(change), limit});
  });
  s.replay(begin);
  jacobi2d::Result result{s.replay(loop, max), std::vector<double>(std::size_t(slab.rows))};
  s.read(result.outcome.exited() ? v : u, result.u.data());
  return result;
}

/// What each rank has computed.
template <class Solve>
std::vector<jacobi2d::Result> on_gpus(int ranks, i32 n, const Solve& solve) {
  cuda::Options options;
  options.ranks = ranks;
  cuda::CudaEngine gpus(options);
  if (n < 2 * gpus.size()) bad_argument("a slab takes at least 2 lines a rank");
  std::vector<jacobi2d::Result> results(std::size_t(gpus.size()));
  gpus.run([&](Rank& s) { results[std::size_t(s.id())] = solve(s); });
  return results;
}

}  // namespace

int main(int argc, char** argv) try {
  i32 n = argc > 1 ? std::atoi(argv[1]) : 256;
  int ranks = argc > 2 ? std::atoi(argv[2]) : 0;
  if (auto found = cuda::device_report(); !found.reason.empty()) {
    std::printf("no GPU: %s\n", found.reason.c_str());
    return 77;
  }
  cuda::enable(jacobi2d::Kernels{});
  cuda::enable(Kernels{});
  constexpr double limit = 1e-12;
  constexpr int most = 20000;
  auto own = on_gpus(ranks, n, [&](Rank& s) { return solve(s, n, limit, most); });
  auto functor = on_gpus(ranks, n, [&](Rank& s) { return jacobi2d::solve(s, n, limit, most, true); });
  double difference = 0;
  for (std::size_t r = 0; r < own.size(); r++)
    for (std::size_t i = 0; i < own[r].u.size(); i++)
      difference = std::fmax(difference, std::fabs(own[r].u[i] - functor[r].u[i]));
  int sweeps = own[0].outcome.iterations, expected = functor[0].outcome.iterations;
  std::printf("%d x %d cells on %d GPUs: %d sweeps by a kernel of this program, %d by a functor; they differ by %.1e\n", n, n,
              int(own.size()), sweeps, expected, difference);
  return std::abs(sweeps - expected) <= 1 && difference < 1e-8 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "own_kernel: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
