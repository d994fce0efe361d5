// Latency and bandwidth against size as users of the engine see them (the paper on GMH, Figs. 7 to 9): the loops of
// messages_program.hpp, replayed, over whatever way the engine was asked to take. An iteration has one or two commands on each
// rank, and the wait for what the other's have sent.
#include <algorithm>

#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/messages_program.hpp"
#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {
namespace {

using overlap::Stopwatch;

constexpr i64 sizes[] = {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20};  // bytes

struct Pattern {
  const char* name;
  void (*program)(Rank&, i32 words, Stopwatch&);
  int messages;  // of an iteration, one behind the other
};
constexpr Pattern of_a_pair[] = {
    {"to and fro", messages::ping_pong, 2}, {"one way", messages::one_way, 1}, {"both ways at once", messages::both_ways, 1}};
constexpr Pattern to_all{"to all, and a sum that says so", messages::broadcast, 1};

class Messages {
 public:
  Messages(const CommPlan& plan, const char* what, int ranks, std::vector<CommFigure>& figures)
      : plan_(plan), what_(what), ranks_(ranks), figures_(figures) {
    enable(messages::Kernels{});
    Options o;
    o.links = plan.links;
    o.staging = plan.staging;
    o.nccl = plan.nccl;
    engine_ = engine_for(plan, o, ranks, plan.apart);
    if (plan.epochs > 0) replays_ = int(std::min<i64>(plan.epochs, replays_));
  }

  void measure(const Pattern& pattern) {
    double bytes_before = 0, seconds_before = 0;
    for (i64 bytes : sizes) {
      const double most = bytes_before > 0 ? seconds_before * double(bytes) / bytes_before : 0;  // that an iteration may take
      Stopwatch watch(ranks_, replays_, iterations_for(most));
      engine_->run([&](Rank& s) { pattern.program(s, i32(bytes / 8), watch); });
      CommFigure f{.what = what_, .way = pattern.name, .ranks = ranks_, .bytes = bytes, .remark = layout(plan_, ranks_)};
      f.way += ", by " + carried_by(plan_, *engine_, plan_.staging);
      add_samples(f, agreed(plan_, slowest_of(watch.seconds)));
      bytes_before = double(bytes), seconds_before = f.median;
      f.median /= pattern.messages;
      f.p99 /= pattern.messages;
      f.bandwidth = double(bytes) / f.median;
      figures_.push_back(f);
    }
  }

 private:
  /// Of a replay of about 10 ms: whole chunks, or so few that they are launched one by one. Even, so that the names of rotated
  /// vectors come back and nothing is compiled anew.
  static int iterations_for(double seconds) {
    constexpr int chunk = 20, most = 400;
    double wanted = seconds > 0 ? 10e-3 / seconds : most;
    return wanted < chunk ? 2 : int(std::min<double>(wanted, most)) / chunk * chunk;
  }

  const CommPlan& plan_;
  const char* what_;
  int ranks_, replays_ = 9;
  std::vector<CommFigure>& figures_;
  std::unique_ptr<CudaEngine> engine_;
};

}  // namespace

std::vector<CommFigure> time_messages(const CommPlan& plan) {
  auto ranks = possible_ranks(plan, 2);
  if (ranks.empty()) return {takes_two_devices("messages")};
  std::vector<CommFigure> figures;
  Messages pair(plan, "messages", *std::min_element(ranks.begin(), ranks.end()), figures);
  for (const Pattern& pattern : of_a_pair) pair.measure(pattern);
  return figures;
}

std::vector<CommFigure> time_broadcasts(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2)) Messages(plan, "broadcast", ranks, figures).measure(to_all);
  if (figures.empty()) figures.push_back(takes_two_devices("broadcast"));
  return figures;
}

}  // namespace sordino::cuda
