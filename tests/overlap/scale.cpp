// Thousands of ranks: arithmetic is skipped, and what is left of a rank is a few kilobytes.
#include <sys/resource.h>

#include <chrono>

#include "check.hpp"
#include "runs.hpp"

namespace {

using namespace sordino;

constexpr double us = 1e-6;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // and several times larger
#else
constexpr bool sanitized = false;
#endif

double megabytes_held_at_most() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return double(u.ru_maxrss) / 1024;
}

}  // namespace

TEST("4096 ranks of a CG are quick and small") {
  constexpr int ranks = 4096, iterations = 100;
  programs::Shape shape;
  shape.nx = 256 * 256;
  shape.blocks = ranks;
  shape.lines = 16;
  model::Options o;
  o.ranks = ranks;
  o.arithmetic = false;
  o.exit_at = iterations;
  o.machine.reduction_base_s = o.machine.reduction_hop_s = 1 * us;
  o.machine.launch_s = 0;
  auto begin = std::chrono::steady_clock::now();
  auto run = runs::on_model(o, [&](Rank& s) { return programs::pcg(s, shape, 0, 1 << 20); });
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  auto& l = run.ledgers[ranks / 2];
  CHECK(run.outcomes[ranks - 1].iterations == iterations);
  CHECK(l.reductions == 2 * iterations + 1);
  CHECK(l.messages == 2 * iterations);  // the last iteration exits before it sends; one was sent before the first
  CHECK_NEAR(l.exposed_reduction, (2 * iterations + 1) * 13 * us, 1e-9);
  double bytes = programs::pcg_bytes(shape, shape.rows() / ranks);
  CHECK_NEAR(l.time / iterations, bytes / o.machine.memory_bandwidth + 26 * us, 1 * us);
  CHECK(wall < 30);                                        // takes 0.6 s
  if (!sanitized) CHECK(megabytes_held_at_most() < 1000);  // takes 100, beside what other tests held
}
