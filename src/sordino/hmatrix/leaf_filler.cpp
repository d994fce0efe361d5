#include "sordino/hmatrix/leaf_filler.hpp"

#include <atomic>
#include <cmath>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/leaf_batches.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 at_once = 16;          // leaves that a thread takes
constexpr i64 few_leaves = 1 << 12;  // that one thread counts

template <class V>
double square(const V* values, i64 n) {
  double sum = 0;
  for (i64 k = 0; k < n; k++) sum += squared(values[k]);
  return sum;
}

i64 weight_of(const Block& block) { return block.rows.size() + block.columns.size(); }

}  // namespace

/// Tells how far a build is, from one of its threads.
template <class V>
class LeafFiller<V>::Teller {
 public:
  Teller(const BuildProgress& progress, i64 all) : progress_(progress), all_(all) {}
  void tell(i64 done) {
    if (!progress_ || done == 0 || seconds_now() - last_ < 0.1) return;
    last_ = seconds_now();
    progress_(double(done) / double(all_));
  }

 private:
  const BuildProgress& progress_;
  i64 all_;
  double last_ = seconds_now();
};

template <class V>
LeafFiller<V>::LeafFiller(const GeneratorOf<V>& generator, const BuildOptions& options, std::span<const i32> order,
                          std::span<LeafOf<V>> leaves, std::vector<ValueStore<V>>& stores, std::span<Filled> filled)
    : generator_(generator), options_(options), order_(order), leaves_(leaves), stores_(stores), filled_(filled) {
  devices_.resize(options.gpus.size());
  each_device([&](std::size_t d) {
    devices_[d] = generator.on_gpu(options.gpus[d], order);
    if (!devices_[d]) throw Error(Errc::unsupported, "this kernel has no code for GPUs: engine='host' builds its matrices");
  });
  stores_.resize(devices_.size() + std::size_t(thread_count(options.threads)));
}

template <class V>
LeafFiller<V>::~LeafFiller() {
  release();
}

template <class V>
void LeafFiller<V>::release() {
  each_device([&](std::size_t d) { devices_[d].reset(); });
}

/// At the same time: a device's memory is taken, and given back, by calls that wait.
template <class V>
template <class Work>
void LeafFiller<V>::each_device(const Work& work) {
  auto some = [&](i64 begin, i64 end) {
    for (auto d = std::size_t(begin); d < std::size_t(end); d++) work(d);
  };
  for_parts(0, i64(devices_.size()), some, 1, std::max(1, int(devices_.size())));
}

template <class V>
void LeafFiller<V>::fill(std::span<const i64> numbers, const BuildProgress& progress) {
  const i64 all = weight(numbers);
  Teller teller(progress, all);
  if (devices_.empty()) return fill_on_threads(numbers, 0, teller);
  auto tell = [&](i64 done) { teller.tell(done); };
  const DevicesDone done = compute_on_devices<V>(devices_, leaves_, numbers, options_, stores_, filled_, tell);
  device_seconds_.waiting += done.seconds.waiting;
  device_seconds_.fetching += done.seconds.fetching;
  fill_on_threads(done.for_host, all - weight(done.for_host), teller);
}

template <class V>
i64 LeafFiller<V>::weight(std::span<const i64> numbers) const {
  auto weight_of_some = [&](i64 begin, i64 end) {
    i64 sum = 0;
    for (i64 k = begin; k < end; k++) sum += weight_of(leaves_[std::size_t(numbers[std::size_t(k)])].block);
    return sum;
  };
  return sum_of_parts(0, i64(numbers.size()), weight_of_some, few_leaves, options_.threads);
}

// Leaves are dealt out in their order, to whoever is free: rows that a product reads together then lie together.
template <class V>
void LeafFiller<V>::fill_on_threads(std::span<const i64> numbers, i64 done_before, Teller& teller) {
  const auto stores = std::span(stores_).subspan(devices_.size());
  std::atomic<i64> done{done_before};
  auto fill_some = [&](i64 begin, i64 end, int thread) {
    for (i64 k = begin; k < end; k++) {
      const std::size_t l = std::size_t(numbers[std::size_t(k)]);
      filled_[l] = fill_one(leaves_[l], i64(l), stores[std::size_t(thread)]);
      done += weight_of(leaves_[l].block);
    }
    if (thread == 0) teller.tell(done);
  };
  deal_out(i64(numbers.size()), at_once, int(stores.size()), fill_some);
}

template <class V>
void LeafFiller<V>::redo(std::span<const i64> numbers) {
  const auto stores = std::span(stores_).subspan(devices_.size());
  CompressionOptions options = options_.compression;
  options.approximation = Approximation::full;
  auto redo_some = [&](i64 begin, i64 end, int thread) {
    for (i64 k = begin; k < end; k++) {
      const std::size_t l = std::size_t(numbers[std::size_t(k)]);
      const int before = filled_[l].redone;
      if (!leaves_[l].is_held()) continue;
      filled_[l] = approximate(leaves_[l], i64(l), options, stores[std::size_t(thread)]);
      filled_[l].redone = before + 1;
    }
  };
  deal_out(i64(numbers.size()), 1, int(stores.size()), redo_some);
}

template <class V>
Section<V> LeafFiller<V>::section_of(const Block& block) const {
  auto part = [&](RowRange range) { return order_.subspan(std::size_t(range.begin), std::size_t(range.size())); };
  return {generator_, part(block.rows), part(block.columns)};
}

template <class V>
Filled LeafFiller<V>::fill_one(LeafOf<V>& leaf, i64 number, ValueStore<V>& store) const {
  return leaf.block.admissible ? approximate(leaf, number, options_.compression, store) : fill_dense(leaf, store);
}

template <class V>
Filled LeafFiller<V>::fill_dense(LeafOf<V>& leaf, ValueStore<V>& store) const {
  V* values = store.take(leaf.block.entries());
  section_of(leaf.block).all(values);
  const double norm_squared = square(values, leaf.block.entries());
  if (!std::isfinite(norm_squared)) bad_argument("the matrix has an entry that is not finite, or too large for its square");
  leaf.u = values;
  return {norm_squared, 0};
}

template <class V>
Filled LeafFiller<V>::approximate(LeafOf<V>& leaf, i64 number, const CompressionOptions& options, ValueStore<V>& store) const {
  const Compressed<V> c = compress(section_of(leaf.block), options, options_.seed + u64(number));
  const LowRank<V>& sum = c.sum;
  leaf.rank = sum.rank;
  V* u = store.take(leaf.entries());
  V* v = u + i64(sum.height) * sum.rank;
  for (i32 i = 0; i < sum.height; i++)
    for (i32 k = 0; k < sum.rank; k++) u[i64(i) * sum.rank + k] = sum.u_of(k)[i];
  std::copy(sum.v.begin(), sum.v.end(), v);
  leaf.u = u;
  leaf.v = v;
  return {sum.norm_squared(), c.redone};
}

template class LeafFiller<double>;
template class LeafFiller<Number>;

}  // namespace sordino::hmatrix
