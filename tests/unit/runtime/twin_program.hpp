// What host twins do, and what is refused, for every engine.
#pragma once
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "host_task_program.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace twins {

using namespace sordino;

inline constexpr i32 rows = 300;
using Values = std::vector<double>;

struct Twice {
  InOut v;
  SORDINO_HD void row(i32 i) { v[i] *= 2; }
};
struct Shift {  // with the neighbours' rows, so that it must find them as they were sent
  Ghost from;
  Out to;
  i32 ghosts;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(from);
    visit(to);
  }
  SORDINO_HD void row(i32 i) {
    double v = from[i] + 1;
    for (i32 k = 0; k < ghosts; k++) v += from[rows + k];
    to[i] = v;
  }
};
using Kernels = KernelList<Kernel<Twice>, Kernel<Shift>>;

inline Values counted(double first) {
  Values v(rows);
  std::iota(v.begin(), v.end(), first);
  return v;
}
inline Values times(double factor, Values v) {
  for (double& x : v) x *= factor;
  return v;
}
inline Values in(Rank& s, Vec v) {
  Values all(rows);
  s.read(v, all.data());
  return all;
}
inline Values in_twin(Rank& s, Vec v) { return {s.twin(v), s.twin(v) + rows}; }
inline void fill_twin(Rank& s, Vec v, const Values& values) { std::copy(values.begin(), values.end(), s.twin(v)); }

/// A space, an exchange with the neighbours, and vectors on them.
struct Named {
  explicit Named(Rank& s) : ends(host_tasks::ends_of(s, rows)), space(s.add_space(equal_parts(rows, s.id(), s.size()))) {
    a = s.vector("a", space, &ends);
    b = s.vector("b", space, &ends);
    c = s.vector("c", space);
  }
  Exchange ends;
  int space;
  Vec a, b, c;
};

inline void travel(Rank& s) {
  Named n(s);
  CHECK(s.twin_bytes() == 0);
  double* twin = s.twin(n.a);
  CHECK(in_twin(s, n.a) == Values(rows, 0.0));
  CHECK(s.twin_bytes() == (rows + n.ends.ghosts) * 8);
  const Values first = counted(1000.0 * s.id()), second = counted(7);
  s.write(n.a, first.data());
  CHECK(in_twin(s, n.a) == Values(rows, 0.0));
  s.fetch(n.a);
  CHECK(in_twin(s, n.a) == first);
  fill_twin(s, n.a, second);
  CHECK(in(s, n.a) == first);
  s.store(n.a);
  CHECK(in(s, n.a) == second);
  Recorded twice = s.record([&] { s.run(Twice{n.a}); });
  s.replay(twice);
  CHECK(in_twin(s, n.a) == second);
  s.fetch(n.a);
  CHECK(in_twin(s, n.a) == times(2, second));
  CHECK(s.twin(n.a) == twin);
  CHECK(s.twin_bytes() == (rows + n.ends.ghosts) * 8);
}

/// What neighbours have sent stays, and what is stored is sent.
inline void leave_ghosts(Rank& s) {
  Named n(s);
  const double id = s.id();
  Recorded send = s.record([&] { s.run(Twice{n.a}, push(n.a)); });
  Recorded use = s.record([&] { s.run(Shift{n.a, n.c, n.ends.ghosts}); });
  fill_twin(s, n.a, Values(rows, id + 1));
  s.store(n.a);
  s.replay(send);
  fill_twin(s, n.a, Values(rows, 100));
  s.store(n.a);
  s.replay(use);
  double left = s.id() > 0 ? 2 * id : 0, right = s.id() + 1 < s.size() ? 2 * (id + 2) : 0;
  s.fetch(n.c);
  CHECK(in_twin(s, n.c) == Values(rows, 101 + left + right));
}

/// A twin goes with the name, whatever buffer that means.
inline void follow_names(Rank& s) {
  Named n(s);
  double *a = s.twin(n.a), *b = s.twin(n.b);
  const Values begin = counted(0);
  s.write(n.a, begin.data());
  Recorded loop = s.loop({.vectors = {{n.b, n.a}}}, [&] {
    s.run(Twice{n.a});
    s.copy(n.a, n.b);
  });
  for (int iterations : {3, 2, 1}) {
    s.replay(loop, iterations);
    for (Vec v : {n.a, n.b}) {
      Values now = in(s, v);
      s.fetch(v);
      CHECK(in_twin(s, v) == now);
      fill_twin(s, v, times(0.5, now));
      s.store(v);
      CHECK(in(s, v) == times(0.5, now));
    }
    CHECK(in(s, n.a) != Values(rows, 0.0));
  }
  CHECK(s.twin(n.a) == a);
  CHECK(s.twin(n.b) == b);
}

/// A copy and a replay that uses other vectors are under way together; all else that touches the vector is refused.
inline void meanwhile(Rank& s) {
  Named n(s);
  const Values values = counted(10.0 * s.id()), others = counted(3);
  Values room = values;
  s.write(n.a, values.data());
  s.write(n.c, others.data());
  Recorded uses = s.record([&] { s.run(Twice{n.a}); });
  Recorded trades = s.loop({.vectors = {{n.b, n.a}}}, [&] { s.run(Twice{n.c}); });
  Recorded other = s.loop({}, [&] { s.run(Twice{n.c}); });
  Transfer fetch = s.start_fetch(n.a);
  const char* said = "'a', that is still being copied to or from its twin: wait() for it first";
  CHECK_THROWS(s.read(n.a, room.data()), Error, said);
  CHECK_THROWS(s.write(n.a, room.data()), Error, said);
  CHECK_THROWS(s.fetch(n.a), Error, said);
  CHECK_THROWS((void)s.start_store(n.a), Error, said);
  CHECK_THROWS((void)s.start(uses), Error, said);
  CHECK_THROWS(s.replay(trades), Error, said);
  CHECK_THROWS(s.reset_names(), Error, said);
  Transfer store = s.start_store(n.b);
  Replay replay = s.start(other, 30);
  const char* busy = "while a replay is under way on this rank: wait() for it first";
  CHECK_THROWS(s.fetch(n.b), Error, busy);
  CHECK_THROWS(s.twin(n.c), Error, busy);
  while (!fetch.test()) replay.test();
  CHECK(fetch.test());
  CHECK(in_twin(s, n.a) == values);
  store.wait();
  store.wait();
  CHECK(replay.wait().iterations == 30);
  CHECK(in(s, n.c) == times(double(1 << 30), others));
  s.replay(uses);
  {
    Transfer dropped = s.start_fetch(n.a);
    Transfer moved = std::move(dropped);
    CHECK(dropped.test());  // NOLINT(bugprone-use-after-move): that is the test
  }
  CHECK(in_twin(s, n.a) == times(2, values));
  s.replay(uses);
  try {
    Transfer passed = s.start_fetch(n.a);
    throw std::runtime_error("out of coffee");
  } catch (const std::runtime_error&) {
  }
  CHECK(in_twin(s, n.a) == times(4, values));
}

inline void refuse(Rank& s) {
  Named n(s);
  CHECK_THROWS(s.twin(Vec{}), Error, "a twin is asked for of a vector that this rank does not have");
  CHECK_THROWS(s.fetch(Vec{1000}), Error, "a twin is asked for of a vector that this rank does not have");
  s.permit(n.a, Permission::read_only);
  s.permit(n.b, Permission::write_only);
  s.fetch(n.a);
  s.store(n.b);
  CHECK_THROWS(s.store(n.a), Error, "'a' may only be read, and is stored");
  CHECK_THROWS(s.fetch(n.b), Error, "'b' may only be written, and is fetched");
  CHECK_THROWS(s.record([&] { s.store(n.c); }), Error, "a vector is stored while commands are recorded");
  int calls = 0;
  Recorded task = s.record([&] {
    s.host({.name = "look", .uses = {{n.c, Access::read}}, .run = [&](const HostView&) {
              CHECK_THROWS(s.fetch(n.c), Error,
                           "a vector is fetched by a host task, which has the vectors that it says it uses");
              calls++;
            }});
  });
  s.replay(task);
  CHECK(calls == 1);
}

/// Around memory of the host's: on a GPU commands compute on a copy, and the caller's memory is what is copied.
inline void wrapped(Rank& s) {
  Values callers = counted(s.id());
  int space = s.add_space(equal_parts(rows, s.id(), s.size()));
  Vec v = s.wrap("v", space, callers.data());
  CHECK(s.twin(v) != callers.data());
  s.fetch(v);
  CHECK(in_twin(s, v) == callers);
  fill_twin(s, v, counted(50));
  CHECK(callers == counted(s.id()));
  s.store(v);
  CHECK(callers == counted(50));
  Recorded twice = s.record([&] { s.run(Twice{v}); });
  s.replay(twice);
  s.fetch(v);
  CHECK(in_twin(s, v) == times(2, counted(50)));
}

inline void all(Engine& engine) {
  for (auto& job : {travel, leave_ghosts, follow_names, meanwhile, refuse, wrapped}) engine.run(job);
}

/// A job that leaves a copy under way fails, with a sentence; the handle may outlive the run, and the engine.
inline void leave_behind(std::unique_ptr<Engine> engine) {
  std::vector<std::optional<Transfer>> left(std::size_t(engine->size()));
  auto job = [&](Rank& s) {
    Named n(s);
    (void)left[std::size_t(s.id())].emplace(s.start_fetch(n.a));
  };
  CHECK_THROWS(engine->run(job), Error, "the job ends with a vector, 'a', that is still being copied to or from its twin");
  CHECK(left[0]->test());
  engine.reset();
  left[0]->wait();
}

}  // namespace twins
