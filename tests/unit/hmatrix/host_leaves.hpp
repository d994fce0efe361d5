// A device that computes leaves with one thread of the host, by the code that GPUs run; with a clock of its own, on which a
// batch takes a second to be computed, beside whatever the host does, and one to be fetched, for which the host waits.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>

#include "sordino/hmatrix/generator.hpp"
#include "sordino/hmatrix/leaf_device.hpp"

namespace host_leaves {

using namespace sordino;
using namespace sordino::hmatrix;

template <class V>
struct Entries {
  const GeneratorOf<V>& generator;
  std::span<const i32> order;

  V entry(i32 i, i32 j) const {
    V out;
    generator.entries(order.subspan(std::size_t(i), 1), order.subspan(std::size_t(j), 1), &out);
    return out;
  }
};

template <class V>
class Device final : public LeafDevice<V> {
 public:
  Device(const GeneratorOf<V>& generator, std::span<const i32> order, i64 capacity)
      : entries_{generator, order}, space_(std::size_t(capacity)) {}
  i64 capacity() const override { return i64(space_.size()); }
  void start(std::span<const LeafTask> tasks, const CompressionOptions& options) override {
    tasks_.assign(tasks.begin(), tasks.end());
    options_ = options;
    std::fill(space_.begin(), space_.end(), V{std::nan("")});  // what the last batch left is no help
    batches++;
    computed_ = std::max(computed_, clock) + 1;
  }
  std::vector<LeafResult> finish(const Meanwhile& meanwhile) override {
    if (while_computed) while_computed();
    clock = std::max(clock, computed_);
    results_.clear();
    for (const LeafTask& t : tasks_) {
      results_.push_back(compute_leaf(Alone{}, entries_, t, options_, &space_[std::size_t(t.space)]));
      if (results_.back().rank >= -1) done_ += i64(t.rows) + t.columns;
      most_room = std::max(most_room, t.terms);
      if (!meanwhile(done_)) break;
    }
    return results_;
  }
  void pack(std::span<const i64> places, i64 values) override {
    packed_.assign(std::size_t(values), V{std::nan("")});
    for (std::size_t k = 0; k < tasks_.size(); k++)
      if (places[k] >= 0)
        pack_leaf(Alone{}, tasks_[k], results_[k].rank, &space_[std::size_t(tasks_[k].space)], packed_.data() + places[k]);
  }
  void fetch(V* to, const Meanwhile&, int) override {
    std::copy(packed_.begin(), packed_.end(), to);
    clock += 1;
  }
  bool stop() override { return stopped = true; }

  std::function<void()> while_computed = {};
  int batches = 0;
  i32 most_room = 0;  // of a leaf, in terms
  bool stopped = false;
  double clock = 0;  // s

 private:
  Entries<V> entries_;
  std::vector<V> space_, packed_;
  std::vector<LeafTask> tasks_;
  std::vector<LeafResult> results_;
  CompressionOptions options_;
  double computed_ = 0;  // when the last batch is
  i64 done_ = 0;
};

/// Another generator's matrix, on as many such devices as are asked for.
template <class V>
class Generator final : public GeneratorOf<V> {
 public:
  explicit Generator(const GeneratorOf<V>& of, i64 capacity = 1 << 20) : of_(of), capacity_(capacity) {}
  i64 size() const override { return of_.size(); }
  const double* points() const override { return of_.points(); }
  void entries(std::span<const i32> rows, std::span<const i32> columns, V* out) const override {
    asked_of_host = true;
    of_.entries(rows, columns, out);
  }
  std::shared_ptr<LeafDevice<V>> on_gpu(int, std::span<const i32> order) const override {
    if (while_made) while_made();
    auto device = std::make_shared<Device<V>>(of_, order, capacity_);
    device->while_computed = while_computed;
    const std::lock_guard lock(mutex_);  // devices are made at the same time
    return made.emplace_back(std::move(device));
  }

  std::function<void()> while_made = {};      // called for each
  std::function<void()> while_computed = {};  // called for each batch, before it is waited for
  mutable std::vector<std::shared_ptr<Device<V>>> made;
  mutable std::atomic<bool> asked_of_host = false;

 private:
  const GeneratorOf<V>& of_;
  i64 capacity_;
  mutable std::mutex mutex_;
};

}  // namespace host_leaves
