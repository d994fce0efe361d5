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

constexpr i64 most_leaves = i64(1) << 17;  // of a batch: ends of it, where few are still at work, are to be few

/// Terms that a leaf of this tolerance hardly ever needs more of.
i32 usual_terms(double eps) { return std::min(most_terms, i32(16 - 5 * std::log10(eps))); }

/// Consecutive leaves; their tasks, the largest first.
struct Batch {
  std::vector<LeafTask> tasks;
  std::vector<i64> leaves;  // of each task
};

template <class V>
class Dealer {
 public:
  Dealer(const std::vector<LeafOf<V>>& leaves, const BuildOptions& options)
      : leaves_(leaves), options_(options), terms_(usual_terms(options.compression.eps)) {}

  /// The next leaves whose workspaces take up to `capacity` values; none: there are no more. What takes more by itself is for
  /// the host.
  Batch next(i64 capacity, std::vector<i64>& for_host) {
    std::lock_guard lock(mutex_);
    Batch batch;
    i64 used = 0;
    for (; next_ < i64(leaves_.size()) && i64(batch.tasks.size()) < most_leaves; next_++) {
      const LeafTask task = task_of(next_);
      const i64 values = space_of(task);
      if (values > capacity) {
        for_host.push_back(next_);
        continue;
      }
      if (used + values > capacity) break;
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
    Batch sorted;
    for (std::size_t k : order) sorted.tasks.push_back(batch.tasks[k]), sorted.leaves.push_back(batch.leaves[k]);
    i64 space = 0;
    for (LeafTask& t : sorted.tasks) t.space = std::exchange(space, space + space_of(t));
    batch = std::move(sorted);
  }

  const std::vector<LeafOf<V>>& leaves_;
  const BuildOptions& options_;
  i32 terms_;
  std::mutex mutex_;
  i64 next_ = 0;
};

/// What was found of a batch goes to its leaves, whose values will lie in their own order, however tasks were sorted.
template <class V>
struct Placed {
  std::vector<i64> places;  // of each task
  i64 values = 0;
};

template <class V>
Placed<V> place(const Batch& batch, const std::vector<LeafResult>& results, std::vector<LeafOf<V>>& leaves,
                std::span<Filled> filled, std::vector<i64>& for_host) {
  Placed<V> placed{std::vector<i64>(results.size(), -1)};
  std::vector<std::size_t> by_leaf(results.size());
  std::iota(by_leaf.begin(), by_leaf.end(), std::size_t(0));
  std::sort(by_leaf.begin(), by_leaf.end(), [&](std::size_t a, std::size_t b) { return batch.leaves[a] < batch.leaves[b]; });
  for (std::size_t k : by_leaf) {
    const std::size_t number = std::size_t(batch.leaves[k]);
    if (results[k].rank == left_to_the_host) {
      for_host.push_back(i64(number));
      continue;
    }
    leaves[number].rank = results[k].rank;
    filled[number] = {results[k].norm_squared, results[k].redone};
    placed.places[k] = std::exchange(placed.values, placed.values + leaves[number].entries());
  }
  return placed;
}

template <class V>
void point_to(V* values, const Batch& batch, const Placed<V>& placed, std::vector<LeafOf<V>>& leaves) {
  for (std::size_t k = 0; k < placed.places.size(); k++) {
    if (placed.places[k] < 0) continue;
    LeafOf<V>& leaf = leaves[std::size_t(batch.leaves[k])];
    leaf.u = values + placed.places[k];
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
  Dealer<V> dealer(leaves, options);
  std::atomic<i64> done{0};
  std::vector<std::vector<i64>> for_host(devices.size());
  auto work = [&](i64 d) {
    LeafDevice<V>& device = *devices[std::size_t(d)];
    std::vector<i64>& left = for_host[std::size_t(d)];
    auto begin = [&] {
      Batch batch = dealer.next(device.capacity(), left);
      if (!batch.tasks.empty()) device.start(batch.tasks, options.compression);
      return batch;
    };
    for (Batch batch = begin(); !batch.tasks.empty();) {
      const Placed<V> placed = place(batch, device.finish(), leaves, filled, left);
      V* values = stores[std::size_t(d)].take(placed.values);
      device.pack(placed.places, placed.values);
      Batch following = begin();
      device.fetch(values);
      point_to(values, batch, placed, leaves);
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
