// A traced replay: what its commands noted on the device is right, and it ran as it does when nobody asks.
#include <map>

#include "grid.hpp"
#include "sordino/base/clock.hpp"
#include "support.hpp"

using namespace sordino;
using cuda::Looping;
using test::Cg;

namespace {

constexpr double about = 1e-3;  // seconds: far more than clocks of one machine are apart, far less than a late rank is

struct Run {
  std::vector<std::vector<double>> history, x;
  std::vector<int> iterations;
  std::vector<Ledger> ledger;
  std::vector<cuda::Counters> counters;
  std::vector<Span> spans;
  bool shares_devices = false;
  double begin = 0, end = 0;  // seconds

  double total(SpanKind kind, int rank) const {
    double sum = 0;
    for (auto& s : spans)
      if (s.kind == kind && s.rank == rank) sum += s.end - s.start;
    return sum;
  }
  std::vector<Span> of(SpanKind kind, int rank) const {
    std::vector<Span> some;
    for (auto& s : spans)
      if (s.kind == kind && s.rank == rank) some.push_back(s);
    return some;
  }
};

Run solve(int ranks, const cuda::Options& options, bool traced, int max = 60) {
  auto gpu = test::cuda_engine(ranks, options);
  gpu->trace().on = traced;
  std::size_t n = std::size_t(ranks);
  Run run{std::vector<std::vector<double>>(n),
          std::vector<std::vector<double>>(n),
          std::vector<int>(n),
          std::vector<Ledger>(n),
          std::vector<cuda::Counters>(n),
          {}};
  run.shares_devices = gpu->shares_devices();
  run.begin = seconds_now();
  gpu->run([&](Rank& rank) {
    std::size_t r = std::size_t(rank.id());
    Cg cg(rank, 32, 32, 32, 100);
    auto b = cg.right_hand_side();
    run.iterations[r] = cg.solve(b.data(), 1e-10, max).iterations;
    run.history[r] = rank.history;
    run.ledger[r] = rank.ledger;
    run.x[r] = cg.solution();
  });
  run.end = seconds_now();
  for (int r = 0; r < ranks; r++) run.counters[std::size_t(r)] = gpu->counters(r);
  run.spans = gpu->trace().take();
  return run;
}

struct Way {
  const char* name;
  cuda::Options options;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"automatic", {}}, {"launches", {}}, {"WHILE graph", {}}, {"by the host", {}}};
  all[1].options.looping = Looping::launches;
  all[2].options.looping = Looping::while_graph;
  all[3].options.links = cuda::Links::host;
  all.push_back({"in small grids that wait for each other", test::spinning()});
  return all;
}

void same_as_untimed(const Run& traced, const Run& plain) {
  CHECK(traced.history == plain.history);
  CHECK(traced.x == plain.x);
  CHECK(plain.spans.empty());
  for (std::size_t r = 0; r < plain.counters.size(); r++) {
    CHECK(traced.counters[r].chunks == plain.counters[r].chunks);
    CHECK(traced.counters[r].stayed == plain.counters[r].stayed);
  }
}

/// Waits are a part of what is under way, and all lies between the beginning and the end. Ranks that take turns on a device
/// send nothing that could be under way.
void plausible(const Run& run, int rank, int ranks) {
  NOTE("rank ", rank);
  for (auto& s : run.spans) {
    CHECK(s.end > s.start);
    CHECK(s.start > run.begin - about);
    CHECK(s.end < run.end + about);
  }
  CHECK(run.total(SpanKind::compute, rank) > 0);
  CHECK(run.total(SpanKind::compute, rank) < run.end - run.begin);
  auto [reductions, halos] = std::pair(run.of(SpanKind::reduction, rank), run.of(SpanKind::halo, rank));
  bool alone = ranks == 1 || run.shares_devices;
  CHECK(reductions.empty() == alone);
  CHECK(halos.empty() == alone);
  if (alone) return;
  CHECK(reductions.size() >= std::size_t(2 * run.iterations[0] - 2));  // two an iteration
  CHECK(run.total(SpanKind::reduction_wait, rank) <= run.total(SpanKind::reduction, rank) + about);
  CHECK(run.total(SpanKind::halo_wait, rank) <= run.total(SpanKind::halo, rank) + about);
}

}  // namespace

TEST("timing: a traced replay has the graphs and the bits of another one, and its spans lie where they must") {
  test::need_gpu();
  for (auto& [name, options] : ways())
    for (int ranks : {1, 2, 4}) {
      NOTE(name, ", ", ranks, " ranks");
      if (ranks == 1 && options.sharing == cuda::Sharing::never) continue;
      Run traced = solve(ranks, options, true);
      same_as_untimed(traced, solve(ranks, options, false));
      for (int r = 0; r < ranks; r++) plausible(traced, r, ranks);
      auto& kernels = traced.ledger[0].kernels;
      CHECK(kernels["Update"].calls == traced.iterations[0]);
      CHECK(kernels["Update"].seconds > 0);
      CHECK(kernels["Update"].bytes > 0);
    }
}

TEST("timing: over NCCL") {
  test::need_nccl();
  Run traced = solve(2, test::by_nccl(), true);
  same_as_untimed(traced, solve(2, test::by_nccl(), false));
  for (int r : {0, 1}) plausible(traced, r, 2);
}

TEST("timing: no rank has the sums of all before the last one has sent its own") {
  test::need_gpu();
  auto options = test::gpus() >= 2 ? cuda::Options{} : test::spinning();
  Run run = solve(2, options, true);
  auto a = run.of(SpanKind::reduction, 0), b = run.of(SpanKind::reduction, 1);
  CHECK(a.size() == b.size());
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); k++) {
    CHECK(a[k].name == b[k].name);
    CHECK(std::min(a[k].end, b[k].end) > std::max(a[k].start, b[k].start) - about);
  }
}

TEST("timing: what a late rank costs the others is a wait in the trace") {
  test::need_gpu();
  auto options = test::gpus() >= 2 ? cuda::Options{} : test::spinning();
  options.inject = {.rank = 1, .command = "Update", .iteration = 5, .delay = 0.02};
  Run run = solve(2, options, true);
  double longest = 0;
  for (auto kind : {SpanKind::reduction_wait, SpanKind::halo_wait})
    for (auto& s : run.of(kind, 0)) longest = std::max(longest, s.end - s.start);
  CHECK(longest > 0.01);
  CHECK(longest < 0.1);
}

TEST("timing: the first commands of a long replay note their times, and the others cost nothing") {
  test::need_gpu();
  Run run = solve(1, {}, true, 400);
  auto calls = run.ledger[0].kernels["Update"].calls;
  CHECK(calls > 0);
  if (run.iterations[0] > 200) CHECK(calls < run.iterations[0]);
}
