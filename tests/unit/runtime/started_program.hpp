// Programs that replay in all ways there are, for every engine: the blocking call, start() and wait(), start() and test().
#pragma once
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "host_task_program.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace started {

using namespace sordino;

inline constexpr double endless = std::numeric_limits<double>::infinity();  // as the limit of a loop

enum class Way { blocking, wait, poll, destroy };
inline constexpr Way ways[] = {Way::blocking, Way::wait, Way::poll};

inline Outcome replay(Rank& s, Recorded& r, int max, Way way) {
  if (way == Way::blocking) return s.replay(r, max);
  Replay under_way = s.start(r, max);
  if (way == Way::destroy) return {};
  while (way == Way::poll && !under_way.test()) std::this_thread::yield();
  return under_way.wait();
}
inline host_tasks::Replays in_the_way(Way way) {
  return [way](Rank& s, Recorded& r, int max) { return replay(s, r, max, way); };
}

struct Seed {
  In from;
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = from[i]; }
};
struct Smooth {  // numbers grow a little in every iteration
  Ghost x;
  Out y;
  i32 rows, ghosts;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD Sums<1> row(i32 i) {
    double v = x[i] + 0.125 * x[rows - 1 - i] + 0.01;
    for (i32 k = 0; k < ghosts; k++) v += 0.0625 * x[rows + k];
    y[i] = v;
    return {{v}};
  }
};
struct Large {
  Get sum;
  double limit;
  SORDINO_HD int test() const { return sum > limit ? met : proceed; }
  SORDINO_HD double value() const { return sum; }
};
using Kernels = KernelList<Kernel<Seed>, Kernel<Smooth>, Kernel<Nothing, Large>>;

/// A loop that sends, waits, sums, tests, rotates two vectors, and leaves one on its way when it ends at its maximum.
struct Waves {
  static constexpr i32 rows = 40;
  explicit Waves(Rank& rank, double limit = endless) : s(rank), ends(host_tasks::ends_of(rank, rows)) {
    int space = s.add_space(equal_parts(rows, s.id(), s.size()));
    from = s.vector("from", space);
    x = s.vector("x", space, &ends);
    y = s.vector("y", space, &ends);
    sum = s.scalar("sum");
    begin = s.record([&] { s.run(Seed{from, x}, push(x)); });
    loop = s.loop({.vectors = {{y, x}}}, [&] {
      s.run(Smooth{x, y, rows, ends.ghosts}, push(y), start(sum));
      s.exit_if(Large{finish(sum), limit});
    });
    std::vector<double> values(rows);
    for (i32 i = 0; i < rows; i++) values[std::size_t(i)] = double((rows * s.id() + i) % 11) / 7;
    s.write(from, values.data());
  }
  std::vector<double> state() {  // of all that a replay may have changed
    std::vector<double> all(2 * rows);
    s.read(x, all.data());
    s.read(y, all.data() + rows);
    all.push_back(s.get(sum));
    all.insert(all.end(), s.history.begin(), s.history.end());
    return all;
  }

  Rank& s;
  Exchange ends;
  Vec from, x, y;
  Scal sum;
  Recorded begin, loop;
};

struct Ended {
  std::vector<Outcome> outcome;
  std::vector<std::vector<double>> state;
  std::vector<i64> commands;
};

/// Two recordings, one after the other, and the loop once more.
inline Ended waves(Engine& engine, double limit, int max, Way way) {
  auto ranks = std::size_t(engine.size());
  Ended e{std::vector<Outcome>(ranks), std::vector<std::vector<double>>(ranks), std::vector<i64>(ranks)};
  engine.run([&](Rank& s) {
    Waves w(s, limit);
    for (int k = 0; k < 2; k++) {
      replay(s, w.begin, 1, way);
      e.outcome[std::size_t(s.id())] = replay(s, w.loop, max, way);
    }
    e.state[std::size_t(s.id())] = w.state();
    e.commands[std::size_t(s.id())] = s.ledger.commands;
  });
  return e;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

using Make = std::function<std::unique_ptr<Engine>()>;

/// All ways leave the same bits, stopped by the test or at the maximum.
inline void compare_ways(const Make& make) {
  struct Case {
    double limit;
    int max;
  };
  for (Case c : {Case{endless, 1}, Case{endless, 45}, Case{1e4, 300}, Case{-1, 30}}) {
    NOTE("limit ", c.limit, ", at most ", c.max, " iterations");
    auto engine = make();
    Ended first = waves(*engine, c.limit, c.max, Way::blocking);
    for (Way way : {Way::wait, Way::poll}) {
      NOTE("way ", int(way));
      auto another = make();
      Ended e = waves(*another, c.limit, c.max, way);
      CHECK(e.commands == first.commands);
      for (std::size_t r = 0; r < first.state.size(); r++) {
        NOTE("rank ", r);
        CHECK(e.outcome[r].iterations == first.outcome[r].iterations);
        CHECK(e.outcome[r].verdict == first.outcome[r].verdict);
        CHECK(same_bits(e.state[r], first.state[r]));
      }
    }
  }
}

/// What must be refused, in one sentence, while a replay is under way, and what a handle may be asked.
inline void refuse_others(Engine& engine) {
  engine.run([&](Rank& s) {
    Waves w(s), other(s);
    s.replay(w.begin);
    Replay first = s.start(w.loop, 7);
    const char* said = "while a replay is under way on this rank: wait() for it first";
    double numbers[Waves::rows] = {};
    CHECK_THROWS((void)s.start(other.loop, 1), Error, said);
    CHECK_THROWS(s.replay(other.loop, 1), Error, said);
    CHECK_THROWS(s.vector("v", 0), Error, said);
    CHECK_THROWS(s.scalar("s", 1), Error, said);
    CHECK_THROWS(s.record([] {}), Error, said);
    CHECK_THROWS(s.write(w.from, numbers), Error, said);
    CHECK_THROWS(s.read(w.x, numbers), Error, said);
    CHECK_THROWS(s.set(w.sum, 1), Error, said);
    CHECK_THROWS(s.get(w.sum), Error, said);
    CHECK_THROWS(s.reset_names(), Error, said);
    CHECK_THROWS(engine.allocate_bytes(s, 8), Error, said);
    CHECK_THROWS(engine.upload(s, nullptr, nullptr, 0), Error, said);
    std::string elsewhere = "nothing";
    std::thread([&] {
      try {
        first.test();
      } catch (const Error& e) {
        elsewhere = e.what();
      }
    }).join();
    CHECK(elsewhere == "a replay is tested and waited for by the thread of its rank");
    CHECK(first.wait().iterations == 7);
    CHECK_THROWS(first.wait(), Error, "this replay is over");
    CHECK_THROWS(first.test(), Error, "this replay is over");
    s.replay(other.begin);
    Replay second = s.start(other.loop, 4);
    Replay moved = std::move(second);
    CHECK_THROWS(second.wait(), Error, "this replay is over");  // NOLINT(bugprone-use-after-move): that is the test
    CHECK(moved.wait().iterations == 4);
    s.replay(w.begin);
    {
      Replay dropped = s.start(w.loop, 5);
    }
    CHECK(int(s.history.size()) == 7 + 4 + 5);
    Replay nothing = s.start(w.loop, 0);
    CHECK(nothing.test());
    CHECK(nothing.wait().iterations == 0);
  });
}

/// Ranks that look at different times, or exchange host data meanwhile, need no order among themselves.
inline void talk_meanwhile(Engine& engine) {
  int ranks = engine.size();
  std::vector<std::byte> word{std::byte{42}};
  engine.run([&](Rank& s) {
    Waves w(s);
    s.replay(w.begin);
    Replay loop = s.start(w.loop, 130);
    if (s.id() == 0) {  // whose part others need, before they send
      for (int r = 1; r < ranks; r++) CHECK(engine.take(s, r, 5) == word);
      CHECK(loop.wait().iterations == 130);
    } else {
      while (!loop.test()) std::this_thread::yield();
      CHECK(loop.wait().iterations == 130);
      engine.post(s, 0, 5, word);
    }
  });
}

/// What a run that must fail says, and what each rank was told.
struct Failure {
  std::string cause = "no failure";
  std::vector<std::string> said;
};
inline Failure fail(Engine& engine, const std::function<void(Rank&)>& job, const std::function<void()>& supervise = {}) {
  Failure f;
  f.said.resize(std::size_t(engine.size()), "nothing");
  try {
    engine.run(
        [&](Rank& s) {
          try {
            job(s);
          } catch (const std::exception& e) {
            f.said[std::size_t(s.id())] = e.what();
            throw;
          }
        },
        supervise);
  } catch (const Error& e) {
    f.cause = e.what();
  }
  return f;
}

/// A rank's own thread throws while all replay.
inline void throw_meanwhile(const Make& make, int max) {
  for (Way way : {Way::wait, Way::poll, Way::destroy}) {
    NOTE("way ", int(way));
    auto engine = make();
    int last = engine->size() - 1;
    std::optional<Replay> outlives;
    Failure f = fail(*engine, [&](Rank& s) {
      Waves w(s);
      s.replay(w.begin);
      Replay loop = s.start(w.loop, max);
      if (s.id() == last) {
        if (way == Way::destroy) (void)outlives.emplace(std::move(loop));
        throw std::runtime_error("out of coffee");
      }
      while (way == Way::poll && !loop.test()) std::this_thread::yield();
      loop.wait();
      engine->barrier(s);
    });
    CHECK(f.cause == "rank " + std::to_string(last) + ": out of coffee");
    for (int r = 0; r < last; r++) CHECK(f.said[std::size_t(r)] == f.cause);
    if (!outlives) continue;
    CHECK_THROWS(outlives->wait(), Error, "this replay is over: it was waited for, it failed, or its run has ended");
    engine.reset();
    CHECK_THROWS(outlives->test(), Error, "this replay is over");
  }
}

/// A job that leaves a replay behind, or goes on after it gave one up.
inline void leave_behind(const Make& make) {
  auto engine = make();
  std::vector<std::optional<Replay>> left(std::size_t(engine->size()));
  Failure f = fail(*engine, [&](Rank& s) {
    Waves w(s);
    s.replay(w.begin);
    (void)left[std::size_t(s.id())].emplace(s.start(w.loop, 3));
  });
  CHECK(f.cause.ends_with("the job ends while a replay is under way on this rank: wait() for it first"));
  left.clear();
  engine = make();
  f = fail(*engine, [&](Rank& s) {
    Waves w(s);
    s.replay(w.begin);
    try {
      Replay loop = s.start(w.loop, 3);
      throw std::runtime_error("out of coffee");
    } catch (const std::runtime_error&) {
    }
    CHECK_THROWS(s.replay(w.loop, 1), Error, "a replay of this rank was given up when an error left its scope");
  });
  CHECK(f.cause.ends_with("a replay of this rank was given up when an error left its scope: the run must end"));
}

}  // namespace started
