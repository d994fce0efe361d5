// Sums that a block of the next command collects while the others compute: the bits, iterations and faults of those that the
// last block of their own command collects.
#include <chrono>

#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;
using cuda::Looping;

namespace {

/// Five sums that are no whole numbers.
struct Fold {
  In e;
  SORDINO_HD Sums<5> row(i32 i) {
    double v = e[i];
    return {{v * v, v / 3, v / 7, -v / 11, v / 13}};
  }
};
/// Rows that need no sums: a kernel that can collect.
struct Idle {
  static constexpr bool collects = true;
  InOut w;
  SORDINO_HD void row(i32 i) { w[i] += 1; }
};
struct Small {
  Get norm;
  double limit;
  SORDINO_HD int test() const { return norm < limit ? met : norm == norm ? proceed : blew_up; }
  SORDINO_HD double value() const { return norm; }
};
/// e gets smaller, by the sums of all ranks. Its own one is handed on, too, unless it ends the loop.
struct Settle {
  Get a, b, c, d;
  InOut e;
  double f = 0;
  SORDINO_HD void head() { f = 0.75 + (b * c + d) * 1e-12; }
  SORDINO_HD Sums<1> row(i32 i) {
    double v = e[i] * f;
    e[i] = v;
    return {{v / 17}};
  }
};
struct Keep {
  Get h, old;
  Put kept;
  SORDINO_HD void head() { kept = 0.5 * old + h; }
};

using HandedOn = KernelList<Kernel<Fold>, Kernel<Idle>, Kernel<Settle, Small>, Kernel<Keep>>;

struct Run {
  std::vector<std::vector<double>> seen;  // [rank] vectors, scalars, the exit test's values
  std::vector<Span> spans;
  Outcome outcome;
};

/// `solves` runs of one loop, of which each ends at the limit or behind `max` iterations.
Run run(cuda::Options options, int ranks, i32 rows, bool hand_on, double limit, int max, int solves = 2) {
  options.hand_on = hand_on;
  auto gpu = test::cuda_engine(ranks, options);
  gpu->trace().on = options.time_commands;
  Run all;
  all.seen.resize(std::size_t(ranks));
  gpu->run(
      [&](Rank& s) {
        int space = s.add_space(equal_parts(rows, s.id(), ranks));
        Vec e = s.vector("e", space), w = s.vector("w", space), u = s.vector("u", space);
        Scal a = s.scalar("a"), b = s.scalar("b"), c = s.scalar("c"), d = s.scalar("d"), g = s.scalar("g");
        Scal h = s.scalar("h"), kept = s.scalar("kept", 0);
        Recorded loop = s.loop({}, [&] {
          s.run(Fold{e}, start(a, b, c, d, g));
          s.run(Idle{w});
          s.exit_if(Small{finish(a), limit});
          s.run(Settle{a, b, c, d, e}, start(h));
          s.run(Idle{u});
          s.run(Keep{finish(h), kept, kept});
        });
        auto& seen = all.seen[std::size_t(s.id())];
        std::vector<double> values(std::size_t(rows), 0.0);
        for (int k = 0; k < solves; k++) {
          for (i32 i = 0; i < rows; i++) values[std::size_t(i)] = 1.0 / (1 + (i * 7 + s.id() * 13 + k) % 101);
          s.write(e, values.data());
          Outcome outcome = s.replay(loop, max + k);
          if (s.id() == 0) all.outcome = outcome;
          seen.push_back(outcome.iterations);
          for (Vec v : {e, w, u}) {
            s.read(v, values.data());
            seen.insert(seen.end(), values.begin(), values.end());
          }
          for (Scal x : {a, g, h, kept}) seen.push_back(s.get(x));
        }
        seen.insert(seen.end(), s.history.begin(), s.history.end());
      },
      {});
  all.spans = gpu->trace().take();
  return all;
}

struct Way {
  const char* name;
  cuda::Options options;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"automatic", {}}, {"launches", {}},     {"WHILE graph", {}}, {"resident", {}},
                       {"unchained", {}}, {"short chunks", {}}, {"timed", {}},       {"by the host", {}}};
  all[1].options.looping = Looping::launches;
  all[2].options.looping = Looping::while_graph;
  all[3].options.looping = Looping::resident;
  all[4].options.chain = false;
  all[5].options.chunk = 1;
  all[6].options.time_commands = true;
  all[7].options.links = cuda::Links::host;
  all.push_back({"in small grids that wait for each other", test::spinning()});
  all.push_back({"in grids of two blocks", test::spinning(2)});
  all.push_back({"near the wrap-around of epochs", test::spinning()});
  all.back().options.first_epoch = 0x7ffffff0;
  return all;
}

/// Two ranks that wait for each other on their devices.
cuda::Options apart() { return test::gpus() >= 2 ? cuda::Options{} : test::spinning(); }

}  // namespace

TEST("handed on: sums have the same bits whoever collects them, in every way to run a loop, to its test or its maximum") {
  test::need_gpu();
  cuda::enable(HandedOn{});
  for (auto& [name, options] : ways())
    for (int ranks : {1, 2, 4})
      for (auto [limit, max] : {std::pair(1e-3, 400), std::pair(0.0, 1), std::pair(0.0, 47)}) {
        NOTE(name, ", ", ranks, " ranks, limit ", limit, ", at most ", max);
        Run kept = run(options, ranks, 5000, false, limit, max), handed = run(options, ranks, 5000, true, limit, max);
        CHECK(kept.outcome.verdict == (limit > 0 ? met : proceed));
        CHECK(handed.outcome.verdict == kept.outcome.verdict);
        CHECK(handed.outcome.iterations == kept.outcome.iterations);
        CHECK(handed.seen == kept.seen);
      }
}

TEST("handed on: the same where each thread that collects adds the sums of several blocks") {
  test::need_gpu();
  cuda::enable(HandedOn{});
  Run kept = run({}, 1, 400'000, false, 0, 47), handed = run({}, 1, 400'000, true, 0, 47);
  CHECK(handed.seen == kept.seen);
}

TEST("handed on: sums that the same command ends in the next iteration, and the loop leaves open, are right in each replay") {
  test::need_gpu();
  cuda::enable(overlap::Kernels{});
  for (auto& [name, options] : ways())
    for (int ranks : {1, 2, 4})
      for (int iterations : {2, 25, 40}) {
        NOTE(name, ", ", ranks, " ranks, ", iterations, " iterations");
        auto gpu = test::cuda_engine(ranks, options);
        overlap::Stopwatch watch(ranks, 3, iterations);
        gpu->run([&](Rank& s) { overlap::reduction(s, {.sends = true, .words = 3000, .work = 50'000}, watch); });
      }
}

// Only so is it known that anything was handed on: a block that has seen the last one of another command hand in is later than
// that command's end; its own last block sends before it ends.
TEST("handed on: the trace has sums leave behind the end of the command that starts them") {
  test::need_gpu();
  cuda::enable(HandedOn{});
  for (bool hand_on : {false, true}) {
    NOTE(hand_on ? "handed on" : "collected by their own command");
    cuda::Options options = apart();
    options.time_commands = true;
    Run traced = run(options, 2, 5000, hand_on, 0, 30, 1);
    std::vector<double> ends, sent;
    for (auto& s : traced.spans)
      if (s.rank == 0 && s.kind == SpanKind::compute && s.name == "Fold") ends.push_back(s.end);
    for (auto& s : traced.spans)
      if (s.rank == 0 && s.kind == SpanKind::reduction && s.name == "a") sent.push_back(s.start);
    REQUIRE(ends.size() == 30);
    REQUIRE(sent.size() == 30);
    int later = 0;
    for (std::size_t k = 0; k < ends.size(); k++) later += sent[k] > ends[k];
    NOTE(later, " of 30 are later");
    CHECK((hand_on ? later > 25 : later == 0));
  }
}

TEST("handed on: a rank that sends none is named within the timeout, a late one is waited for") {
  test::need_gpu();
  cuda::enable(HandedOn{});
  for (const char* command : {"Fold", "Settle"}) {
    NOTE(command);
    cuda::Options options = apart();
    options.timeout = 0.5;
    options.inject = {.rank = 1, .command = command, .iteration = 7, .mute = true};
    std::string cause = "no failure";
    auto begin = std::chrono::steady_clock::now();
    try {
      run(options, 2, 5000, true, 0, 100);
    } catch (const Error& e) {
      cause = e.what();
    }
    NOTE(cause);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    CHECK(cause.find("waited 0.5 s without any progress for rank ") != std::string::npos);
    CHECK(cause.find(command[0] == 'F' ? "the reduction into 'a'" : "the reduction into 'h'") != std::string::npos);
  }
  for (const char* command : {"Fold", "Idle", "Settle"}) {
    NOTE("late ", command);
    cuda::Options options = apart();
    Run prompt = run(options, 2, 5000, true, 0, 40);
    options.inject = {.rank = 1, .command = command, .iteration = 5, .delay = 0.02};
    CHECK(run(options, 2, 5000, true, 0, 40).seen == prompt.seen);
  }
}

TEST("handed on: a stop request ends the loop on all ranks in the same iteration") {
  test::need_gpu();
  cuda::enable(HandedOn{});
  cuda::Options options = apart();
  options.inject.rank = 0;
  options.inject.before = [&](Rank& s, int first, int) {
    if (first > 200) s.engine().request_stop();
  };
  Run stopped = run(options, 2, 5000, true, 0, 1 << 20, 1);
  CHECK(stopped.outcome.verdict == asked_to_stop);
  CHECK(stopped.outcome.iterations > 200);
  CHECK(stopped.seen[0][0] == stopped.seen[1][0]);
}
