// A stencil whose halo hides behind the inside of the slab: solved on threads, then timed on a described machine.
//
//   build/examples/jacobi2d [cells in each direction [ranks]]
#include "jacobi2d.hpp"

#include <cstdio>
#include <cstdlib>

#include "sordino/base/error.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

// Seconds a sweep, and how long it waits for halos in it, on a described machine of as many GPUs.
void describe(int ranks, i32 n, bool overlap) {
  model::Options o;
  o.ranks = ranks;
  o.arithmetic = false;  // a virtual clock needs no numbers
  o.machine.ranks_per_node = 1;
  o.machine.internode_latency_s = 20e-6;
  model::ModelEngine machine(o);
  constexpr int sweeps = 100;
  machine.run([&](Rank& s) { jacobi2d::solve(s, n, 0, sweeps, overlap); });
  Rank& middle = machine.rank(ranks / 2);
  std::printf("  %-24s %6.2f us a sweep, of which %5.2f us wait for the halo\n",
              overlap ? "inside first:" : "halo first:", machine.now(middle) / sweeps * 1e6,
              middle.ledger.exposed_halo / sweeps * 1e6);
}

}  // namespace

int main(int argc, char** argv) try {
  i32 n = argc > 1 ? std::atoi(argv[1]) : 64;
  int ranks = argc > 2 ? std::atoi(argv[2]) : 4;
  if (ranks < 1 || n < 2 * ranks) bad_argument("a slab takes at least 2 lines a rank");
  host::HostEngine threads({.ranks = ranks});
  double middle = 0, limit = 1e-22;
  Outcome outcome;
  threads.run([&](Rank& s) {
    auto r = jacobi2d::solve(s, n, limit, 100000, true);
    i32 first = n * s.id() / s.size(), row = n / 2;
    if (row >= first && row < n * (s.id() + 1) / s.size()) middle = r.u[std::size_t((row - first) * n + n / 2)];
    if (s.id() == 0) outcome = r.outcome;
  });
  std::printf("%d x %d cells on %d ranks: %s after %d sweeps, u = %.5f in the middle (0.07367 on the finest grid)\n", n, n,
              ranks, outcome.exited() ? "settled" : "not settled", outcome.iterations, middle);
  std::printf("on %d described GPUs that are 20 us apart, 8192 x 8192 cells:\n", ranks);
  describe(ranks, 8192, false);
  describe(ranks, 8192, true);
  return outcome.verdict == met && middle > 0.07 && middle < 0.08 ? 0 : 3;
} catch (const Error& error) {
  std::fprintf(stderr, "jacobi2d: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
