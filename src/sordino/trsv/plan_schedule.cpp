#include "sordino/trsv/plan_schedule.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace sordino::trsv {
namespace {

/// The tasks that need each one.
struct Followers {
  std::vector<i64> begin;
  std::vector<i32> tasks;
  explicit Followers(const Plan& plan) : begin(plan.tasks.size() + 1, 0), tasks(plan.needs.size()) {
    for (i32 need : plan.needs) begin[std::size_t(need) + 1]++;
    for (std::size_t t = 0; t < plan.tasks.size(); t++) begin[t + 1] += begin[t];
    std::vector<i64> next(begin.begin(), begin.end() - 1);
    for (std::size_t t = 0; t < plan.tasks.size(); t++)
      for (i64 e = plan.need_begin[t]; e < plan.need_begin[t + 1]; e++)
        tasks[std::size_t(next[std::size_t(plan.needs[std::size_t(e)])]++)] = i32(t);
  }
};

class Schedule {
 public:
  Schedule(const Plan& plan, const PlanOptions& options, const std::function<double(const Task&)>& bytes)
      : plan_(plan),
        options_(options),
        followers_(plan),
        ready_(std::size_t(plan.ranks)),
        idle_(std::size_t(plan.ranks), options.workers) {
    for (const Task& t : plan.tasks) seconds_.push_back(options.task_seconds + bytes(t) / options.worker_bandwidth);
    find_ways();
  }

  /// The order in which tasks begin.
  std::vector<i32> run() {
    std::vector<i32> order;
    for (std::size_t t = 0; t < plan_.tasks.size(); t++) {
      missing_.push_back(i32(plan_.need_begin[t + 1] - plan_.need_begin[t]));
      if (missing_[t] == 0) push_ready(i32(t));
    }
    begin_tasks(order);
    while (!events_.empty()) {
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event e = events_.top();
        events_.pop();
        take(e);
      }
      begin_tasks(order);
    }
    return order;
  }
  double seconds() const { return now_; }

 private:
  struct Event {
    double time;
    i32 task;
    i32 rank;  // where its end is heard of; -1: it ends
    bool operator<(const Event& o) const { return std::tie(o.time, o.task, o.rank) < std::tie(time, task, rank); }
  };
  using Urgent = std::pair<double, i32>;  // the way behind, and minus the task

  /// From the last tasks to the first: needs go up and down the numbers of unscheduled tasks, so in the order of their tree.
  void find_ways() {
    way_.assign(plan_.tasks.size(), 0);
    std::vector<i32> left(plan_.tasks.size()), open;
    for (std::size_t t = 0; t < left.size(); t++) {
      left[t] = i32(followers_.begin[t + 1] - followers_.begin[t]);
      if (left[t] == 0) open.push_back(i32(t));
    }
    while (!open.empty()) {
      const std::size_t t = std::size_t(open.back());
      open.pop_back();
      way_[t] += seconds_[t];
      for (i64 e = plan_.need_begin[t]; e < plan_.need_begin[t + 1]; e++) {
        const std::size_t need = std::size_t(plan_.needs[std::size_t(e)]);
        way_[need] = std::max(way_[need], way_[t] + delay(plan_.tasks[need].rank, plan_.tasks[t].rank));
        if (--left[need] == 0) open.push_back(i32(need));
      }
    }
  }

  double delay(i32 from, i32 to) const { return from == to ? 0 : options_.message_seconds; }
  void push_ready(i32 t) { ready_[std::size_t(plan_.tasks[std::size_t(t)].rank)].push({way_[std::size_t(t)], -t}); }

  void begin_tasks(std::vector<i32>& order) {
    for (std::size_t r = 0; r < ready_.size(); r++)
      for (; idle_[r] > 0 && !ready_[r].empty(); idle_[r]--) {
        const i32 t = -ready_[r].top().second;
        ready_[r].pop();
        order.push_back(t);
        events_.push({now_ + seconds_[std::size_t(t)], t, -1});
      }
  }

  void take(const Event& e) {
    const i32 rank = plan_.tasks[std::size_t(e.task)].rank;
    if (e.rank < 0) {
      idle_[std::size_t(rank)]++;
      for (i32 r = 0; r < plan_.ranks; r++)
        if (r == rank || (plan_.readers[std::size_t(e.task)] >> r & 1)) events_.push({now_ + delay(rank, r), e.task, r});
      return;
    }
    for (i64 k = followers_.begin[std::size_t(e.task)]; k < followers_.begin[std::size_t(e.task) + 1]; k++) {
      const i32 t = followers_.tasks[std::size_t(k)];
      if (plan_.tasks[std::size_t(t)].rank == e.rank && --missing_[std::size_t(t)] == 0) push_ready(t);
    }
  }

  const Plan& plan_;
  const PlanOptions& options_;
  Followers followers_;
  std::vector<double> seconds_, way_;
  std::vector<std::priority_queue<Urgent>> ready_;
  std::vector<i32> idle_, missing_;
  std::priority_queue<Event> events_;
  double now_ = 0;
};

}  // namespace

Plan in_schedule(Plan plan, const PlanOptions& options, const std::function<double(const Task&)>& bytes) {
  Schedule schedule(plan, options, bytes);
  const std::vector<i32> order = schedule.run();
  std::vector<i32> number(order.size());
  for (std::size_t k = 0; k < order.size(); k++) number[std::size_t(order[k])] = i32(k);
  Plan sorted;
  sorted.direction = plan.direction;
  sorted.ranks = plan.ranks;
  sorted.seconds = schedule.seconds();
  sorted.owner = std::move(plan.owner);
  sorted.queues.resize(std::size_t(plan.ranks));
  sorted.need_begin.push_back(0);
  for (std::size_t k = 0; k < order.size(); k++) {
    const std::size_t t = std::size_t(order[k]);
    sorted.tasks.push_back(plan.tasks[t]);
    sorted.readers.push_back(plan.readers[t]);
    for (i64 e = plan.need_begin[t]; e < plan.need_begin[t + 1]; e++)
      sorted.needs.push_back(number[std::size_t(plan.needs[std::size_t(e)])]);
    std::sort(sorted.needs.begin() + sorted.need_begin.back(), sorted.needs.end());
    sorted.need_begin.push_back(i64(sorted.needs.size()));
    sorted.queues[std::size_t(plan.tasks[t].rank)].push_back(i32(k));
  }
  return sorted;
}

}  // namespace sordino::trsv
