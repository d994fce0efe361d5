// A loop that smooths a chain, by a functor or by a device task that does the same. Two vectors take turns, two scalars, too;
// ghosts come before the command and rows leave behind it, a functor sums, and a test ends the loop. All numbers are dyadic and
// short, so every engine computes them exactly, in any order.
#pragma once
#include <functional>
#include <vector>

#include "host_task_program.hpp"

namespace device_tasks {

using namespace sordino;

/// Row i of a rank's part of the chain, whose ghosts stand behind its `rows`.
struct Chain {
  i32 rows;
  bool left, right;  // whether there are neighbours
  SORDINO_HD double smooth(const double* x, i32 i, double step) const {
    double before = i > 0 ? x[i - 1] : left ? x[rows] : 0, after = i + 1 < rows ? x[i + 1] : right ? x[rows + left] : 0;
    return 0.25 * before + 0.5 * x[i] + 0.25 * after + step;
  }
};

struct Smooth {
  Get step;
  Put next;
  Ghost x;
  Out y;
  Chain chain;
  static constexpr double flops = 6;
  SORDINO_HD void head() { next = step + 1; }
  SORDINO_HD void row(i32 i) { y[i] = chain.smooth(x.p, i, step); }
};
struct Add {
  In y;
  SORDINO_HD Sums<1> row(i32 i) { return {y[i]}; }
};
struct Count {
  InOut z;
  SORDINO_HD void row(i32 i) { z[i] += 1; }
};
using host_tasks::Enough;
using Kernels = KernelList<Kernel<Smooth>, Kernel<Add>, Kernel<Count>, Kernel<Nothing, Enough>>;

/// What the task touches, for who launches it.
struct Names {
  Vec x, y;
  Scal step, next;
  Chain chain;
};
using Launches = std::function<void(const DeviceView&, const Names&)>;

inline DeviceTask smooth_task(const Names& n, const Launches& launches) {
  DeviceTask task{.name = "smooth",
                  .uses = {{n.x, Access::ghost}, {n.y, Access::write}},
                  .gets = {n.step},
                  .puts = {n.next},
                  .flops = Smooth::flops * n.chain.rows};
  if (launches) task.on_device = [=](const DeviceView& view) { launches(view, n); };
  task.on_host = [n](const HostView& host) {
    for (i32 i = 0; i < n.chain.rows; i++) host.words(n.y)[i] = n.chain.smooth(host.words(n.x), i, host.get(n.step));
    host.put(n.next, host.get(n.step) + 1);
  };
  return task;
}

struct Result {
  std::vector<double> x, y, history;  // both vectors: what was launched behind the end of the loop would have changed one
  double step = 0;
  int iterations = 0;
  bool operator==(const Result&) const = default;
};

/// What stands in the loop beside the smoothing, for tests of one engine; called with the smoothed vector.
using Beside = std::function<void(Rank&, Vec y)>;

inline void job(Rank& s, i32 rows, double limit, int max, bool by_task, const Launches& launches, const Beside& beside,
                Result& all) {
  int space = s.add_space(equal_parts(rows, s.id(), s.size()));
  Exchange ends = host_tasks::ends_of(s, rows);
  Names n{s.vector("x", space, &ends),
          s.vector("y", space, &ends),
          s.scalar("step", 0),
          s.scalar("next", 0),
          {rows, s.id() > 0, s.id() + 1 < s.size()}};
  Scal sum = s.scalar("sum");
  Recorded begin = s.record([&] { s.run(Nothing{}, push(n.x)); });
  Recorded loop = s.loop({.vectors = {{n.y, n.x}}, .scalars = {{n.next, n.step}}}, [&] {
    if (by_task)
      s.device(smooth_task(n, launches), push(n.y));
    else
      s.run(Smooth{n.step, n.next, n.x, n.y, n.chain}, push(n.y));
    if (beside) beside(s, n.y);
    s.run(Add{n.y}, start(sum));
    s.exit_if(Enough{finish(sum), limit});
  });
  std::vector<double> mine(static_cast<std::size_t>(rows));
  for (i32 i = 0; i < rows; i++) mine[std::size_t(i)] = double((rows * s.id() + i) % 7);
  s.write(n.x, mine.data());
  s.replay(begin);
  Outcome out = s.replay(loop, max);
  for (auto [v, to] : {std::pair(n.x, &all.x), std::pair(n.y, &all.y)}) {
    s.read(v, mine.data());
    std::copy(mine.begin(), mine.end(), to->begin() + rows * s.id());
  }
  if (s.id() == 0) all.iterations = out.iterations, all.history = s.history, all.step = s.get(n.step);
}

constexpr i32 rows_of_all = 24;
constexpr double reached = 300;  // by the sum, in the sixth iteration

inline Result run(Engine& engine, double limit, int max, bool by_task, const Launches& launches = {},
                  const Beside& beside = {}) {
  Result all{std::vector<double>(rows_of_all), std::vector<double>(rows_of_all), {}, 0, 0};
  engine.run([&](Rank& s) { job(s, rows_of_all / s.size(), limit, max, by_task, launches, beside, all); });
  return all;
}

}  // namespace device_tasks
