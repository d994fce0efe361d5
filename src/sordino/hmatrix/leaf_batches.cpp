#include "sordino/hmatrix/leaf_batches.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 most_leaves = i64(1) << 19;  // of a batch
constexpr i64 most_values = i64(1) << 30;  // of a leaf's workspace, which is counted in 32 bits
constexpr i64 few_batches = 8;             // a device: the first is computed, and the last one fetched, by itself
constexpr i64 least_bytes = i64(2) << 30;  // of a batch's workspaces: at its end few leaves are still at work

/// Terms that a leaf of this tolerance hardly ever needs more of.
i32 usual_terms(double eps) { return std::min(most_terms, i32(16 - 5 * std::log10(eps))); }

/// Consecutive leaves; their tasks, the largest first.
struct Batch {
  std::vector<LeafTask> tasks;
  std::vector<i64> leaves;           // in their order,
  std::vector<std::size_t> task_of;  // and the task of each
};

template <class V>
class Dealer {
 public:
  Dealer(const std::vector<LeafOf<V>>& leaves, const BuildOptions& options, std::size_t devices)
      : leaves_(leaves), options_(options), terms_(usual_terms(options.compression.eps)) {
    i64 all = 0;
    for (std::size_t l = 0; l < leaves.size(); l++) all += space_of(task_of(i64(l)));
    share_ = std::max(all / (few_batches * i64(devices)), least_bytes / i64(sizeof(V)));
  }

  /// The next leaves, a share of them whose workspaces fit into `capacity` values; none: there are no more. What does not fit
  /// by itself is for the host.
  Batch next(i64 capacity, std::vector<i64>& for_host) {
    std::lock_guard lock(mutex_);
    Batch batch;
    i64 used = 0;
    for (; next_ < i64(leaves_.size()) && i64(batch.tasks.size()) < most_leaves; next_++) {
      const LeafTask task = task_of(next_);
      const i64 values = space_of(task);
      if (values > std::min(capacity, most_values)) {
        for_host.push_back(next_);
        continue;
      }
      if (used > 0 && used + values > std::min(capacity, share_)) break;
      batch.tasks.push_back(task);
      batch.leaves.push_back(next_);
      used += values;
    }
    put_largest_first(batch);
    return batch;
  }
  /// Nobody is to get more.
  void end() {
    std::lock_guard lock(mutex_);
    next_ = i64(leaves_.size());
  }

 private:
  LeafTask task_of(i64 number) const {
    const Block& b = leaves_[std::size_t(number)].block;
    const i32 most = std::min({terms_, options_.compression.most_rank, b.rows.size(), b.columns.size()});
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
  static void put_largest_first(Batch& batch) {
    std::vector<std::size_t> order(batch.tasks.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    auto size = [&](std::size_t k) { return batch.tasks[k].rows + batch.tasks[k].columns; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    std::vector<LeafTask> sorted;
    sorted.reserve(order.size());
    batch.task_of.resize(order.size());
    i64 space = 0;
    for (std::size_t k : order) {
      batch.task_of[k] = sorted.size();
      sorted.push_back(batch.tasks[k]);
      sorted.back().space = std::exchange(space, space + space_of(batch.tasks[k]));
    }
    batch.tasks = std::move(sorted);
  }

  const std::vector<LeafOf<V>>& leaves_;
  const BuildOptions& options_;
  i32 terms_;
  i64 share_;  // of a batch, in values
  std::mutex mutex_;
  i64 next_ = 0;
};

/// Where values of a batch come to lie.
struct Places {
  std::vector<i64> of_task;  // -1: it has none
  i64 values = 0;
};

/// What was found of a batch goes to its leaves, whose values lie in their order, however tasks were sorted.
template <class V>
Places place(const Batch& batch, const std::vector<LeafResult>& results, std::vector<LeafOf<V>>& leaves,
             std::span<Filled> filled, std::vector<i64>& for_host) {
  Places places{std::vector<i64>(results.size(), -1)};
  for (std::size_t k = 0; k < batch.leaves.size(); k++) {
    const LeafResult& found = results[batch.task_of[k]];
    const std::size_t number = std::size_t(batch.leaves[k]);
    if (found.rank == left_to_the_host) {
      for_host.push_back(i64(number));
      continue;
    }
    leaves[number].rank = found.rank;
    filled[number] = {found.norm_squared, found.redone};
    places.of_task[batch.task_of[k]] = std::exchange(places.values, places.values + leaves[number].entries());
  }
  return places;
}

template <class V>
void point_to(V* values, const Batch& batch, const Places& places, std::vector<LeafOf<V>>& leaves) {
  for (std::size_t k = 0; k < batch.leaves.size(); k++) {
    const i64 at = places.of_task[batch.task_of[k]];
    if (at < 0) continue;
    LeafOf<V>& leaf = leaves[std::size_t(batch.leaves[k])];
    leaf.u = values + at;
    if (!leaf.is_dense()) leaf.v = leaf.u + i64(leaf.block.rows.size()) * leaf.rank;
  }
}

i64 weight(const Batch& batch) {
  i64 sum = 0;
  for (const LeafTask& t : batch.tasks) sum += i64(t.rows) + t.columns;
  return sum;
}

}  // namespace

template <class V>
std::vector<i64> compute_on_devices(std::span<const std::shared_ptr<LeafDevice<V>>> devices, std::vector<LeafOf<V>>& leaves,
                                    const BuildOptions& options, std::vector<ValueStore<V>>& stores, std::span<Filled> filled,
                                    const std::function<void(i64 done)>& tell) {
  Dealer<V> dealer(leaves, options, devices.size());
  std::atomic<i64> done{0};
  std::vector<std::vector<i64>> for_host(devices.size());
  auto work = [&](i64 d) {
    LeafDevice<V>& device = *devices[std::size_t(d)];
    std::vector<i64>& left = for_host[std::size_t(d)];
    auto start = [&](const Batch& batch) {
      if (!batch.tasks.empty()) device.start(batch.tasks, options.compression);
    };
    Batch batch = dealer.next(device.capacity(), left);
    for (start(batch); !batch.tasks.empty();) {
      Batch following = dealer.next(device.capacity(), left);
      const Places places = place(batch, device.finish(), leaves, filled, left);
      device.pack(places.of_task, places.values);
      start(following);
      V* values = stores[std::size_t(d)].take(places.values);
      device.fetch(values);
      point_to(values, batch, places, leaves);
      done += weight(batch);
      if (d == 0) tell(done);
      batch = std::move(following);
    }
  };
  auto work_or_end = [&](i64 first, i64 end) {
    try {
      for (i64 d = first; d < end; d++) work(d);
    } catch (...) {
      dealer.end();
      throw;
    }
  };
  for_parts(0, i64(devices.size()), work_or_end, 1);
  std::vector<i64> all;
  for (const auto& some : for_host) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  return all;
}

template std::vector<i64> compute_on_devices(std::span<const std::shared_ptr<LeafDevice<double>>>, std::vector<LeafOf<double>>&,
                                             const BuildOptions&, std::vector<ValueStore<double>>&, std::span<Filled>,
                                             const std::function<void(i64)>&);
template std::vector<i64> compute_on_devices(std::span<const std::shared_ptr<LeafDevice<Number>>>, std::vector<LeafOf<Number>>&,
                                             const BuildOptions&, std::vector<ValueStore<Number>>&, std::span<Filled>,
                                             const std::function<void(i64)>&);

}  // namespace sordino::hmatrix
