#include "sordino/trsv/model_solve.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/shared_bandwidth.hpp"
#include "sordino/trsv/task_results.hpp"

namespace sordino::trsv {
namespace {

/// What tasks of a plan of blocks cost.
class BlockTasks : public ModelledTasks {
 public:
  BlockTasks(const Blocks& blocks, const Plan& plan, i64 value_bytes)
      : blocks_(blocks), plan_(plan), value_bytes_(value_bytes) {}
  i64 bytes(i32 t) const override { return values_of(blocks_, plan_.tasks[std::size_t(t)]) * value_bytes_; }
  i64 round_bytes(i32 t) const override {
    const Task& task = plan_.tasks[std::size_t(t)];
    const bool is_part = plan_.direction == Direction::backward && task.kind == Task::Kind::strips;
    return is_part ? values_of_round(blocks_, task) * value_bytes_ : bytes(t);
  }
  i64 message_bytes(i32 t) const override {
    i64 count = 0;
    each_result(blocks_, plan_, plan_.tasks[std::size_t(t)], [&](i64, i64 some, bool) { count += some; });
    return count * value_bytes_;
  }
  i64 trips(i32 t) const override { return further_trips(blocks_, plan_.direction, plan_.tasks[std::size_t(t)]); }
  double step(i32 t, const TaskTimes& times) const override { return times.step(blocks_, plan_.tasks[std::size_t(t)]); }

 protected:
  const Blocks& blocks_;
  const Plan& plan_;

 private:
  i64 value_bytes_;
};

class Clock {
 public:
  Clock(const Plan& plan, const ModelOptions& options, ModelledTasks& tasks)
      : plan_(plan),
        options_(options),
        times_(options.times),
        tasks_(tasks),
        random_(options.seed),
        copies_(std::size_t(plan.ranks), SharedBandwidth(times_.bandwidth, times_.worker_bandwidth)),
        next_(std::size_t(plan.ranks), 0),
        idle_(std::size_t(plan.ranks), times_.workers),
        left_(plan.tasks.size(), 0),
        ready_at_(plan.tasks.size(), -1),
        followers_(plan.tasks.size()),
        trace_(plan.tasks.size()) {
    for (std::size_t t = 0; t < plan.tasks.size(); t++) {
      missing_.push_back(i32(plan.need_begin[t + 1] - plan.need_begin[t]));
      for (i64 e = plan.need_begin[t]; e < plan.need_begin[t + 1]; e++)
        followers_[std::size_t(plan.needs[std::size_t(e)])].push_back(i32(t));
    }
  }

  ModelReport run() {
    for (i32 r = 0; r < plan_.ranks; r++) take_tasks(r);
    while (true) {
      const auto first =
          std::min_element(copies_.begin(), copies_.end(), [](const auto& a, const auto& b) { return a.next() < b.next(); });
      const double copied = first->next();
      if (events_.empty() && copied == std::numeric_limits<double>::infinity()) break;
      if (events_.empty() || copied <= events_.top().time) {
        now_ = copied;
        be_ready(first->end(now_));
        continue;
      }
      const Event e = events_.top();
      events_.pop();
      now_ = e.time;
      if (e.rank == ends)
        end(e.task);
      else
        e.rank == uses_round ? let_come(e.task) : arrive(e.task, e.rank);
    }
    if (done_ < plan_.count()) tell_who_waits();
    if (options_.traced) report_.tasks = std::move(trace_);
    return report_;
  }

 private:
  static constexpr i32 ends = -1, uses_round = -2;
  struct Event {
    double time;
    u64 draw;        // among events of one time, at random with a seed
    i32 task, rank;  // it `ends`, or `uses_round`, the last of its values that are there; else the rank sees its end
    bool operator<(const Event& o) const { return std::tie(o.time, o.draw, o.task, o.rank) < std::tie(time, draw, task, rank); }
  };

  /// Of the tasks that nothing will reach any more, the first one.
  [[noreturn]] void tell_who_waits() const {
    const auto first = std::find_if(missing_.begin(), missing_.end(), [](i32 missing) { return missing > 0; });
    const auto t = first - missing_.begin();
    throw Error(Errc::peer_failed, "the solve hangs: task " + std::to_string(t) + " on rank " +
                                       std::to_string(plan_.tasks[std::size_t(t)].rank) + " waits for " +
                                       std::to_string(*first) + " others that never reach it");
  }

  double delayed(double seconds) {
    return options_.seed == 0 ? seconds : seconds * std::uniform_real_distribution<double>(1, 10)(random_);
  }
  void happen(double seconds, i32 task, i32 rank) {
    events_.push({now_ + delayed(seconds), options_.seed == 0 ? 0 : random_(), task, rank});
  }
  bool near(i32 a, i32 b) const {
    return options_.ranks_per_node == 0 || a / options_.ranks_per_node == b / options_.ranks_per_node;
  }

  void take_tasks(i32 r) {
    const std::vector<i32>& queue = plan_.queues[std::size_t(r)];
    for (; idle_[std::size_t(r)] > 0 && next_[std::size_t(r)] < i64(queue.size()); idle_[std::size_t(r)]--) {
      const i32 t = queue[std::size_t(next_[std::size_t(r)]++)];
      trace_[std::size_t(t)].taken = now_;
      left_[std::size_t(t)] = tasks_.bytes(t);
      let_come(t);
    }
  }
  /// The next round of its values.
  void let_come(i32 t) {
    const i64 bytes = std::min(left_[std::size_t(t)], tasks_.round_bytes(t));
    left_[std::size_t(t)] -= bytes;
    copies_[std::size_t(plan_.tasks[std::size_t(t)].rank)].start(now_, delayed(double(bytes) * times_.work), t);
  }

  /// A round of its values has come: the first one, or one of those behind it.
  void be_ready(i32 t) {
    if (ready_at_[std::size_t(t)] >= 0) return compute(t);
    ready_at_[std::size_t(t)] = now_;
    if (missing_[std::size_t(t)] == 0) begin(t);
  }
  void begin(i32 t) {
    report_.waiting += now_ - ready_at_[std::size_t(t)];
    trace_[std::size_t(t)].ready = ready_at_[std::size_t(t)];
    trace_[std::size_t(t)].begin = now_;
    compute(t, double(tasks_.trips(t)) * trip(plan_.tasks[std::size_t(t)].rank));
  }
  /// With the values that are at hand, `later` from now on.
  void compute(i32 t, double later = 0) {
    const bool is_last = left_[std::size_t(t)] == 0;
    const double seconds = later + (is_last ? tasks_.step(t, times_) : times_.round_s);
    report_.computing += seconds;
    happen(seconds, t, is_last ? ends : uses_round);
  }

  void end(i32 t) {
    const i32 rank = plan_.tasks[std::size_t(t)].rank;
    tasks_.compute(t);
    done_++;
    report_.seconds = now_;
    trace_[std::size_t(t)].end = now_;
    idle_[std::size_t(rank)]++;
    if (!followers_[std::size_t(t)].empty()) tell(t, rank);
    take_tasks(rank);
  }

  void tell(i32 t, i32 rank) {
    happen(times_.flag_s + trips_of_flag * queue(rank), t, rank);
    if (plan_.readers[std::size_t(t)] == 0) return;
    const i64 bytes_sent = tasks_.message_bytes(t);
    for (i32 r = 0; r < plan_.ranks; r++) {
      if (!(plan_.readers[std::size_t(t)] >> r & 1)) continue;
      report_.messages++;
      report_.message_bytes += bytes_sent;
      happen(times_.message(near(rank, r), double(bytes_sent)) + trips_of_flag * queue(r), t, r);
    }
  }
  /// Seconds for which what goes through a rank's memory now waits behind values.
  double queue(i32 rank) const { return copies_[std::size_t(rank)].queue(now_); }
  double trip(i32 rank) const { return times_.trip_s() + queue(rank); }

  void arrive(i32 t, i32 rank) {
    if (rank != plan_.tasks[std::size_t(t)].rank) tasks_.deliver(t, rank);
    for (i32 f : followers_[std::size_t(t)]) {
      if (plan_.tasks[std::size_t(f)].rank != rank || --missing_[std::size_t(f)] > 0) continue;
      trace_[std::size_t(f)].last_need = t;
      if (ready_at_[std::size_t(f)] >= 0) begin(f);
    }
  }

  const Plan& plan_;
  const ModelOptions& options_;
  const TaskTimes& times_;
  ModelledTasks& tasks_;
  std::mt19937_64 random_;
  std::vector<SharedBandwidth> copies_;  // [ranks]
  std::vector<i64> next_;                // [ranks] in its queue
  std::vector<int> idle_;                // [ranks] workers
  std::vector<i64> left_;                // [tasks] bytes of rounds that nobody has asked for yet
  std::vector<double> ready_at_;         // [tasks] when its values, or the first round of them, had come
  std::vector<std::vector<i32>> followers_;
  std::vector<TaskSeconds> trace_;
  std::vector<i32> missing_;
  std::priority_queue<Event> events_;
  i32 done_ = 0;
  double now_ = 0;
  ModelReport report_;
};

template <class V>
class RealNumbers final : public BlockTasks {
 public:
  RealNumbers(const Factor<V>& factor, const Plan& plan, const V* b, i64 columns, bool conjugate)
      : BlockTasks(factor.blocks(), plan, i64(sizeof(V))),
        columns_(columns),
        steps_(factor),
        result_(std::size_t(blocks_.n * columns)),
        ranks_(std::size_t(plan.ranks)) {
    for (Memory& m : ranks_) {
      m.x.assign(std::size_t(blocks_.n * columns), unknown<V>());
      m.sums.assign(std::size_t(blocks_.slots * columns), unknown<V>());
      m.partials.assign(std::size_t(blocks_.partials * columns), unknown<V>());
      m.vectors = {b, result_.data(), m.x.data(), m.sums.data(), m.partials.data(), columns, conjugate};
    }
  }
  void compute(i32 t) override {
    const Task& task = plan_.tasks[std::size_t(t)];
    steps_.compute(task, plan_.direction, ranks_[std::size_t(task.rank)].vectors);
  }
  void deliver(i32 t, i32 rank) override {
    const Memory& from = ranks_[std::size_t(plan_.tasks[std::size_t(t)].rank)];
    Memory& to = ranks_[std::size_t(rank)];
    each_result(blocks_, plan_, plan_.tasks[std::size_t(t)], [&](i64 first, i64 count, bool is_sum) {
      const auto& source = is_sum ? from.sums : from.x;
      std::copy_n(source.begin() + first * columns_, count * columns_, (is_sum ? to.sums : to.x).begin() + first * columns_);
    });
  }
  const std::vector<V>& result() const { return result_; }

 private:
  struct Memory {
    std::vector<V> x, sums, partials;
    SolveVectors<V> vectors;
  };
  i64 columns_;
  TaskSteps<V> steps_;
  std::vector<V> result_;
  std::vector<Memory> ranks_;
};

}  // namespace

ModelOptions model_options(const Machine& machine, Direction direction, i64 columns, u64 seed, i64 value_bytes) {
  return {
      .times = task_times(machine, direction, columns, value_bytes), .ranks_per_node = machine.ranks_per_node, .seed = seed};
}

ModelReport model_solve(const Plan& plan, ModelledTasks& tasks, const ModelOptions& options) {
  return Clock(plan, options, tasks).run();
}

ModelReport model_solve(const Blocks& blocks, const Plan& plan, i64 value_bytes, const ModelOptions& options) {
  BlockTasks tasks(blocks, plan, value_bytes);
  return model_solve(plan, tasks, options);
}

template <class V>
ModelReport model_solve(const Factor<V>& factor, const Plan& plan, const ModelOptions& options, const V* b, V* x, i64 columns,
                        bool conjugate) {
  RealNumbers<V> numbers(factor, plan, b, columns, conjugate);
  const ModelReport report = model_solve(plan, numbers, options);
  std::copy(numbers.result().begin(), numbers.result().end(), x);
  return report;
}

template ModelReport model_solve(const Factor<float>&, const Plan&, const ModelOptions&, const float*, float*, i64, bool);
template ModelReport model_solve(const Factor<double>&, const Plan&, const ModelOptions&, const double*, double*, i64, bool);
template ModelReport model_solve(const Factor<Number>&, const Plan&, const ModelOptions&, const Number*, Number*, i64, bool);

}  // namespace sordino::trsv
