#include "sordino/hmatrix/leaf_batches.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 most_leaves = i64(1) << 19;  // of a batch
constexpr i64 most_values = i64(1) << 30;  // of a leaf's workspace, which is counted in 32 bits
constexpr i64 few_leaves = 1 << 12;        // that one thread looks at
constexpr i64 few_batches = 8;             // a device: the first is computed, and the last one fetched, by itself
constexpr i64 least_bytes = i64(2) << 30;  // of a batch's workspaces: at its end few leaves are still at work

/// Terms that a leaf of this tolerance hardly ever needs more of.
i32 usual_terms(double eps) { return std::min(most_terms, i32(16 - 5 * std::log10(eps))); }

/// Leaves that follow one another; their tasks, the largest first.
struct Batch {
  std::vector<LeafTask> tasks;
  std::vector<i64> leaves;           // in their order,
  std::vector<std::size_t> task_of;  // and the task of each
};

template <class V>
class Dealer {
 public:
  /// threads: of each of the devices, which ask for leaves at the same time.
  Dealer(std::span<const LeafOf<V>> leaves, std::span<const i64> numbers, const BuildOptions& options, std::size_t devices,
         int threads)
      : leaves_(leaves), numbers_(numbers), options_(options), threads_(threads), terms_(usual_terms(options.compression.eps)) {
    auto space = [this](i64 begin, i64 end) {
      i64 sum = 0;
      for (i64 k = begin; k < end; k++) sum += space_of(task_of(numbers_[std::size_t(k)], terms_));
      return sum;
    };
    const i64 all = sum_of_parts(0, i64(numbers.size()), space, few_leaves, options.threads);
    share_ = std::max(all / (few_batches * i64(devices)), least_bytes / i64(sizeof(V)));
  }

  /// The next leaves, a share of them whose workspaces fit into `capacity` values; none: there are no more. What does not fit
  /// by itself is for the host.
  Batch next(i64 capacity, std::vector<i64>& for_host) {
    Batch batch;
    take_leaves(batch, capacity, for_host);
    put_largest_first(batch);
    return batch;
  }
  /// This leaf needs more terms than others, and gets room for them when all others have been dealt out.
  void put_back(i64 leaf) {
    std::lock_guard lock(mutex_);
    again_.push_back(leaf);
  }

 private:
  struct Turn {
    i64 leaf;
    i32 terms;
  };
  void take_leaves(Batch& batch, i64 capacity, std::vector<i64>& for_host) {
    const std::vector<Turn> turns = take_turns(capacity, for_host);
    batch.tasks.resize(turns.size());
    batch.leaves.resize(turns.size());
    auto put = [&](i64 begin, i64 end) {
      for (std::size_t k = std::size_t(begin); k < std::size_t(end); k++) {
        batch.tasks[k] = task_of(turns[k].leaf, turns[k].terms);
        batch.leaves[k] = turns[k].leaf;
      }
    };
    for_parts(0, i64(turns.size()), put, few_leaves, threads_);
  }
  /// All that has to be done by one device after the other.
  std::vector<Turn> take_turns(i64 capacity, std::vector<i64>& for_host) {
    std::lock_guard lock(mutex_);
    std::vector<Turn> turns;
    i64 used = 0;
    for (std::optional<Turn> turn; i64(turns.size()) < most_leaves && (turn = ahead()); pass()) {
      const i64 values = space_of(task_of(turn->leaf, turn->terms));
      if (values > std::min(capacity, most_values)) {
        for_host.push_back(turn->leaf);
        continue;
      }
      if (used > 0 && used + values > std::min(capacity, share_)) break;
      turns.push_back(*turn);
      used += values;
    }
    return turns;
  }
  std::optional<Turn> ahead() const {
    if (next_ < numbers_.size()) return Turn{numbers_[next_], terms_};
    if (!again_.empty()) return Turn{again_.front(), most_terms};
    return {};
  }
  void pass() {
    if (next_ < numbers_.size())
      next_++;
    else
      again_.pop_front();
  }
  LeafTask task_of(i64 number, i32 terms) const {
    const Block& b = leaves_[std::size_t(number)].block;
    const i32 most = std::min({terms, options_.compression.most_rank, b.rows.size(), b.columns.size()});
    return {.first_row = b.rows.begin,
            .rows = b.rows.size(),
            .first_column = b.columns.begin,
            .columns = b.columns.size(),
            .terms = b.admissible ? most : 0,
            .most_rank = options_.compression.most_rank,
            .space = 0,
            .draws = options_.seed + u64(number)};
  }
  static i64 space_of(const LeafTask& t) {
    return t.terms ? LeafSpace<V>::values(t.rows, t.columns, t.terms) : i64(t.rows) * t.columns;
  }
  void put_largest_first(Batch& batch) const {
    const std::vector<LeafTask> tasks = std::move(batch.tasks);
    std::vector<std::pair<i64, std::size_t>> order;  // by size, then by number
    order.reserve(tasks.size());
    for (const LeafTask& t : tasks) order.emplace_back(-(i64(t.rows) + t.columns), order.size());
    std::ranges::sort(order);
    batch.tasks.resize(order.size());
    batch.task_of.resize(order.size());
    auto put = [&](i64 begin, i64 end) {
      for (std::size_t t = std::size_t(begin); t < std::size_t(end); t++) {
        batch.tasks[t] = tasks[order[t].second];
        batch.task_of[order[t].second] = t;
      }
    };
    for_parts(0, i64(order.size()), put, few_leaves, threads_);
    i64 space = 0;
    for (LeafTask& t : batch.tasks) t.space = std::exchange(space, space + space_of(t));
  }

  std::span<const LeafOf<V>> leaves_;
  std::span<const i64> numbers_;
  const BuildOptions& options_;
  int threads_;
  i32 terms_;
  i64 share_;  // of a batch, in values
  std::mutex mutex_;
  std::size_t next_ = 0;  // of the numbers
  std::deque<i64> again_;
};

/// Where values of a batch come to lie.
struct Places {
  std::vector<i64> of_task;  // -1: it has none
  i64 values = 0;
};

/// What was found of a batch goes to its leaves, whose values lie in their order, however tasks were sorted.
template <class V>
Places place(const Batch& batch, const std::vector<LeafResult>& results, std::span<LeafOf<V>> leaves, std::span<Filled> filled,
             Dealer<V>& dealer, std::vector<i64>& for_host, int threads) {
  Places places{std::vector<i64>(results.size(), -1)};  // at first how many values
  auto tell = [&](i64 begin, i64 end) {
    for (std::size_t k = std::size_t(begin); k < std::size_t(end); k++) {
      const LeafResult& found = results[batch.task_of[k]];
      const std::size_t number = std::size_t(batch.leaves[k]);
      if (found.rank == out_of_room || found.rank == left_to_the_host) continue;
      leaves[number].rank = found.rank;
      filled[number] = {found.norm_squared, found.redone};
      places.of_task[batch.task_of[k]] = leaves[number].entries();
    }
  };
  for_parts(0, i64(batch.leaves.size()), tell, few_leaves, threads);
  for (std::size_t k = 0; k < batch.leaves.size(); k++) {
    const std::size_t task = batch.task_of[k];
    i64& at = places.of_task[task];
    if (at >= 0)
      at = std::exchange(places.values, places.values + at);
    else if (results[task].rank == out_of_room && batch.tasks[task].terms < most_terms)
      dealer.put_back(batch.leaves[k]);
    else
      for_host.push_back(batch.leaves[k]);
  }
  return places;
}

template <class V>
void point_to(V* values, const Batch& batch, const Places& places, std::span<LeafOf<V>> leaves, int threads) {
  auto point = [&](i64 begin, i64 end) {
    for (std::size_t k = std::size_t(begin); k < std::size_t(end); k++) {
      const i64 at = places.of_task[batch.task_of[k]];
      if (at < 0) continue;
      LeafOf<V>& leaf = leaves[std::size_t(batch.leaves[k])];
      leaf.u = values + at;
      if (!leaf.is_dense()) leaf.v = leaf.u + i64(leaf.block.rows.size()) * leaf.rank;
    }
  };
  for_parts(0, i64(batch.leaves.size()), point, few_leaves, threads);
}

template <class V>
class Crew {
 public:
  using Devices = std::span<const std::shared_ptr<LeafDevice<V>>>;
  using Tell = std::function<void(i64 done)>;
  Crew(Devices devices, std::span<LeafOf<V>> leaves, std::span<const i64> numbers, const BuildOptions& options,
       std::vector<ValueStore<V>>& stores, std::span<Filled> filled, const Tell& tell)
      : devices_(devices),
        leaves_(leaves),
        options_(options),
        stores_(stores),
        filled_(filled),
        tell_(tell),
        threads_(thread_count_of_each(options.threads, int(devices.size()))),
        dealer_(leaves, numbers, options, devices.size(), threads_),
        done_(devices.size()),
        by_device_(devices.size()) {}

  DevicesDone run() {
    auto work_or_end = [&](i64 first, i64 last) {
      std::size_t d = std::size_t(first);
      try {
        for (; d < std::size_t(last); d++) work(d);
      } catch (...) {
        ended_ = true;
        end(d);
        throw;
      }
    };
    for_parts(0, i64(devices_.size()), work_or_end, 1);
    DevicesDone all;
    for (const DevicesDone& one : by_device_) {
      all.for_host.insert(all.for_host.end(), one.for_host.begin(), one.for_host.end());
      all.seconds.waiting += one.seconds.waiting / double(by_device_.size());
      all.seconds.fetching += one.seconds.fetching / double(by_device_.size());
    }
    std::sort(all.for_host.begin(), all.for_host.end());
    return all;
  }

 private:
  void work(std::size_t d) {
    LeafDevice<V>& device = *devices_[d];
    DevicesDone& mine = by_device_[d];
    std::vector<i64>& left = mine.for_host;
    const Meanwhile meanwhile = [&](i64 by_this) { return go_on(d, by_this); };
    auto next = [&] { return dealer_.next(device.capacity(), left); };
    auto start = [&](const Batch& batch) {
      if (!batch.tasks.empty()) device.start(batch.tasks, options_.compression);
    };
    Batch batch = next();
    for (start(batch); !batch.tasks.empty();) {
      Batch following = next();
      double begun = seconds_now();
      const std::vector<LeafResult> found = device.finish(meanwhile);
      mine.seconds.waiting += seconds_now() - begun;
      if (ended_) return end(d);
      const Places places = place(batch, found, leaves_, filled_, dealer_, left, threads_);
      device.pack(places.of_task, places.values);
      if (following.tasks.empty()) following = next();  // some were put back
      start(following);
      V* values = stores_[d].take(places.values);
      begun = seconds_now();
      device.fetch(values, meanwhile, threads_);
      mine.seconds.fetching += seconds_now() - begun;
      if (ended_) return end(d);
      point_to(values, batch, places, leaves_, threads_);
      batch = std::move(following);
    }
  }
  bool go_on(std::size_t d, i64 done) {
    done_[d] = done;
    if (std::this_thread::get_id() == caller_) tell_(std::accumulate(done_.begin(), done_.end(), i64(0)));
    return !ended_;
  }
  /// A device that does not become idle again stays as it is: to free what it uses would wait for it.
  void end(std::size_t d) {
    if (!devices_[d]->stop()) static_cast<void>(new std::shared_ptr<LeafDevice<V>>(devices_[d]));
  }

  const Devices devices_;
  const std::span<LeafOf<V>> leaves_;
  const BuildOptions& options_;
  std::vector<ValueStore<V>>& stores_;
  const std::span<Filled> filled_;
  const Tell& tell_;
  const int threads_;  // of each device
  Dealer<V> dealer_;
  std::atomic<bool> ended_{false};
  std::vector<std::atomic<i64>> done_;  // rows and columns, by each device
  std::vector<DevicesDone> by_device_;
  const std::thread::id caller_ = std::this_thread::get_id();
};

}  // namespace

template <class V>
DevicesDone compute_on_devices(std::span<const std::shared_ptr<LeafDevice<V>>> devices, std::span<LeafOf<V>> leaves,
                               std::span<const i64> numbers, const BuildOptions& options, std::vector<ValueStore<V>>& stores,
                               std::span<Filled> filled, const std::function<void(i64 done)>& tell) {
  return Crew<V>(devices, leaves, numbers, options, stores, filled, tell).run();
}

template DevicesDone compute_on_devices(std::span<const std::shared_ptr<LeafDevice<double>>>, std::span<LeafOf<double>>,
                                        std::span<const i64>, const BuildOptions&, std::vector<ValueStore<double>>&,
                                        std::span<Filled>, const std::function<void(i64)>&);
template DevicesDone compute_on_devices(std::span<const std::shared_ptr<LeafDevice<Number>>>, std::span<LeafOf<Number>>,
                                        std::span<const i64>, const BuildOptions&, std::vector<ValueStore<Number>>&,
                                        std::span<Filled>, const std::function<void(i64)>&);

}  // namespace sordino::hmatrix
