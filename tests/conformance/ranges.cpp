// What a profiler is shown of a solve: ranges that nest on each thread, under the names of the trace.
#include <map>
#include <mutex>
#include <thread>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/range.hpp"

using namespace sordino;
using namespace problems;

namespace {

struct Seen {
  std::mutex mutex;
  std::map<std::string, int> begun;
  std::map<std::thread::id, int> open;
  int deepest = 0, ended_unopened = 0;
} seen;

void begin(const char* name) {
  std::lock_guard lock(seen.mutex);
  seen.begun[name]++;
  seen.deepest = std::max(seen.deepest, ++seen.open[std::this_thread::get_id()]);
}

void end() {
  std::lock_guard lock(seen.mutex);
  if (--seen.open[std::this_thread::get_id()] < 0) seen.ended_unopened++;
}

constexpr RangeSink counting{begin, end};

/// Counts while it lives, and gives back who was shown ranges before.
struct Counting {
  const RangeSink* before = range_sink.exchange(&counting);
  ~Counting() { range_sink = before; }
};

}  // namespace

TEST("ranges of setup, solve, verification, commands and host tasks nest, and end, on every thread") {
  CsrMatrix A = poisson(6, 6, 6, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0);
  Options o = options("cg", "host", 2);
  int iterations = 0;
  {
    Counting count;
    System system{.A = A.view(), .watch = {.every = 5, .look = [](int, double, const double*) {}}};
    Solver solver(system, o);
    iterations = solve(solver, b).report.iterations;
  }
  CHECK(seen.begun["sordino: set up"] == 1);
  CHECK(seen.begun["sordino: solve"] == 1);
  CHECK(seen.begun["verify"] == 4);  // by 2 ranks, before and after
  CHECK(seen.begun["iterate"] == 2);
  CHECK(seen.begun["Residual"] == 2 * iterations);
  CHECK(seen.begun["callback"] >= 2 * (iterations / 5));
  CHECK(seen.ended_unopened == 0);
  CHECK(seen.deepest >= 2);
  for (auto& [thread, open] : seen.open) CHECK(open == 0);

  seen.begun.clear();
  Solver solver(A.view(), o);
  solve(solver, b);
  CHECK(seen.begun.empty());
}

TEST("ranges that an error leaves end, too") {
  CsrMatrix A = poisson(4, 4, 4, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0);
  seen.open.clear();
  Counting count;
  auto fails = [](const double*, double*) { bad_argument("no product today"); };
  Solver solver({.product = fails, .A = {.n = A.n}}, options("cg", "host", 2));
  CHECK_THROWS(solve(solver, b), Error, "no product today");
  for (auto& [thread, open] : seen.open) CHECK(open == 0);
}
