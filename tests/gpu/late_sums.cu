// Sums over ranks that are made late, for measurements of what hides them: they come so long after the rank has started them,
// with the same bits, and what needs none of them goes on.
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;

namespace {

struct Fold {
  In e;
  SORDINO_HD Sums<1> row(i32 i) { return {{e[i] / 3}}; }
};
/// Needs no sums: a kernel that can collect.
struct Idle {
  static constexpr bool collects = true;
  InOut w;
  SORDINO_HD void row(i32 i) { w[i] += 1; }
};
struct Settle {
  Get a;
  InOut e;
  SORDINO_HD void row(i32 i) { e[i] = e[i] * 0.75 + a * 1e-12; }
};

using Late = KernelList<Kernel<Fold>, Kernel<Idle>, Kernel<Settle>>;

struct Run {
  std::vector<std::vector<double>> seen;  // [rank]
  std::vector<Span> spans;
};

/// Two ranks that wait for each other on their devices.
cuda::Options apart() { return test::gpus() >= 2 ? cuda::Options{} : test::spinning(); }

constexpr i32 rows = 5000;

Run run(cuda::Options options, double late, int iterations, int ranks = 2) {
  auto gpu = test::cuda_engine(ranks, options);
  gpu->trace().on = options.time_commands;
  Run all;
  all.seen.resize(std::size_t(ranks));
  std::vector<Recorded> loops(std::size_t(ranks), Recorded{});
  std::vector<Vec> e(loops.size()), w(loops.size());
  Scal a{};
  gpu->run([&](Rank& s) {
    const auto k = std::size_t(s.id());
    int space = s.add_space(equal_parts(rows, s.id(), ranks));
    e[k] = s.vector("e", space);
    w[k] = s.vector("w", space);
    const Scal sum = s.scalar("a");
    if (s.id() == 0) a = sum;
    loops[k] = s.loop({}, [&] {
      s.run(Fold{e[k]}, start(sum));
      s.run(Idle{w[k]});
      s.run(Settle{finish(sum), e[k]});
    });
  });
  if (options.late_sums) gpu->delay_sums(late);
  gpu->run([&](Rank& s) {
    const auto k = std::size_t(s.id());
    std::vector<double> values(std::size_t(rows), 0.0);
    for (i32 i = 0; i < rows; i++) values[std::size_t(i)] = 1.0 / (1 + (i * 7 + s.id() * 13) % 101);
    s.write(e[k], values.data());
    s.replay(loops[k], iterations);
    for (Vec v : {e[k], w[k]}) {
      s.read(v, values.data());
      all.seen[k].insert(all.seen[k].end(), values.begin(), values.end());
    }
    all.seen[k].push_back(s.get(a));
  });
  all.spans = gpu->trace().take();
  return all;
}

cuda::Options that_can_be_late(cuda::Options options) {
  options.late_sums = true;
  return options;
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST("late sums: the same bits, in every way to run a loop") {
  test::need_gpu();
  cuda::enable(Late{});
  const Run prompt = run(apart(), 0, 25);
  for (auto looping : {cuda::Looping::launches, cuda::Looping::graph, cuda::Looping::while_graph, cuda::Looping::resident})
    for (bool hand_on : {false, true})
      for (double late : {0.0, 100e-6}) {
        NOTE("looping ", int(looping), hand_on ? ", handed on" : "", ", late by ", late);
        cuda::Options options = that_can_be_late(apart());
        options.looping = looping;
        options.hand_on = hand_on;
        CHECK(run(options, late, 25).seen == prompt.seen);
      }
}

TEST("late sums: they come as late as they were told to, and what needs none of them is done by then") {
  test::need_gpu();
  cuda::enable(Late{});
  constexpr double late = 20e-3;  // much longer than the commands
  constexpr std::size_t iterations = 5;
  for (bool hand_on : {false, true}) {
    NOTE(hand_on ? "handed on" : "collected by their own command");
    cuda::Options options = that_can_be_late(apart());
    options.hand_on = hand_on;
    options.time_commands = true;
    for (const auto& [name, least] : {std::pair("late", late), std::pair("prompt", 0.0)}) {
      NOTE(name);
      Run traced = run(options, least, int(iterations));
      for (int rank : {0, 1}) {
        std::vector<Span> sums, idle;
        for (auto& s : traced.spans) {
          if (s.rank != rank) continue;
          if (s.kind == SpanKind::reduction && s.name == "a") sums.push_back(s);
          if (s.kind == SpanKind::compute && s.name == "Idle") idle.push_back(s);
        }
        REQUIRE(sums.size() == iterations);
        REQUIRE(idle.size() == iterations);
        for (std::size_t k = 0; k < iterations; k++) {
          const double took = sums[k].end - sums[k].start;
          if (least > 0) CHECK(took >= 0.99 * least);  // stamps are a few microseconds apart from the sums
          if (least > 0) CHECK(idle[k].end < sums[k].end);
        }
      }
    }
  }
}

TEST("late sums: a late rank's others end when it fails") {
  test::need_gpu();
  cuda::enable(Late{});
  cuda::Options options = that_can_be_late(apart());
  options.timeout = 0.5;
  options.inject = {.rank = 1, .command = "Fold", .iteration = 3, .mute = true};
  CHECK(refusal([&] { run(options, 1e-3, 100); }) != "");
}

TEST("late sums: what cannot be made late is refused") {
  test::need_gpu();
  cuda::enable(Late{});
  cuda::Options fixed = that_can_be_late(apart()), shared = that_can_be_late({});
  fixed.deterministic = true;
  shared.devices = {0};
  for (auto& options : {fixed, shared})
    CHECK(refusal([&] { test::cuda_engine(2, options); }).find("sums are made late where") != std::string::npos);
  auto prompt = test::cuda_engine(1), late = test::cuda_engine(1, that_can_be_late({}));
  CHECK(refusal([&] { prompt->delay_sums(0.1); }).find("was not built for sums that are made late") != std::string::npos);
  for (double seconds : {-1.0, 1.5, double(NAN)})
    CHECK(refusal([&] { late->delay_sums(seconds); }).find("by 0 to 1 second") != std::string::npos);
}
