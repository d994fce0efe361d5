// What a caller's kernel costs as a command of a loop (ADR 24): the same update of a short vector by a functor, and by a device
// task, which has a gate and a conditional node in front. The loop's other command is a functor, as around a task most are.
#include <cstdio>

#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {
namespace {

using overlap::Stopwatch;

constexpr i32 rows = 1024;

struct CountUp {
  InOut y;
  SORDINO_HD void row(i32 i) { y[i] += 1; }
};
using TaskKernels = KernelList<Kernel<CountUp>>;

__global__ void count_up(double* y) {
  if (i32 i = i32(blockIdx.x * blockDim.x + threadIdx.x); i < rows) y[i] += 1;
}

DeviceTask counting_task(Vec y) {
  return {.name = "count", .uses = {{y, Access::update}}, .on_device = [y](const DeviceView& view) {
            count_up<<<(rows + block_threads - 1) / block_threads, block_threads, 0, view.stream()>>>(view.words(y));
          }};
}

enum class Second { none, functor, task };

void count(Rank& s, Second second, Stopwatch& watch) {
  int space = s.add_space(equal_parts(rows, 0, 1));
  Vec x = overlap::filled(s, "x", space, rows, 0, 1), y = overlap::filled(s, "y", space, rows, 0, 1);
  Recorded loop = s.loop({}, [&] {
    s.run(CountUp{x});
    if (second == Second::functor) s.run(CountUp{y});
    if (second == Second::task) s.device(counting_task(y));
  });
  watch.time(s, loop);
  double counted = double(watch.all_iterations());
  overlap::require_values(s, x, rows, counted, 1, "a loop of commands");
  overlap::require_values(s, y, rows, second == Second::none ? 0 : counted, 1, "a loop with a device task");
}

CommFigure time_loop(const CommPlan& plan, const Options& options, Second second, const std::string& way) {
  const i64 epochs = plan.epochs > 0 ? plan.epochs : 10'000;
  const int once = int(std::min<i64>(epochs, 1000));
  Stopwatch watch(1, int(std::max<i64>(1, epochs / once)), once);
  auto gpu = engine_for(plan, options, 1);
  gpu->run([&](Rank& s) { count(s, second, watch); });
  CommFigure f{.what = "device-tasks", .way = way, .ranks = 1, .bytes = i64(rows) * 8};
  add_samples(f, slowest_of(watch.seconds));
  return f;
}

std::string more(const CommFigure& with, const CommFigure& without) {
  char text[60];
  std::snprintf(text, sizeof text, "adds %.2f us to the loop without it", (with.median - without.median) * 1e6);
  return text;
}

}  // namespace

std::vector<CommFigure> time_device_tasks(const CommPlan& plan) {
  enable(TaskKernels{});
  std::vector<CommFigure> figures;
  for (auto [looping, name] : {std::pair(Looping::graph, "chunks in graphs"),
                               {Looping::while_graph, "a WHILE graph"},
                               {Looping::launches, "launch by launch"}}) {
    Options options;
    options.looping = looping;
    auto timed = [&](Second second, const char* what) {
      return time_loop(plan, options, second, std::string(what) + ", " + name);
    };
    CommFigure one = timed(Second::none, "a functor"), two = timed(Second::functor, "two functors"),
               task = timed(Second::task, "a functor and a device task");
    two.remark = more(two, one);
    task.remark = more(task, one);
    figures.insert(figures.end(), {one, two, task});
  }
  return figures;
}

}  // namespace sordino::cuda
