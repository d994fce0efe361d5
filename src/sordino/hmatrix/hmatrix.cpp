#include "sordino/hmatrix/hmatrix.hpp"

#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/leaf_batches.hpp"
#include "sordino/hmatrix/probes.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 at_once = 16;          // leaves that a thread takes
constexpr i64 few_leaves = 1 << 12;  // that one thread counts
constexpr double least_eps = 1e-13;
constexpr i32 most_leaf = 1 << 20, most_threads = 4096;

template <class V>
double square(const V* values, i64 n) {
  double sum = 0;
  for (i64 k = 0; k < n; k++) sum += squared(values[k]);
  return sum;
}

i64 weight(const Block& block) { return block.rows.size() + block.columns.size(); }

/// Computes the numbers of leaves, on any thread.
template <class V>
struct Filler {
  const GeneratorOf<V>& generator;
  const CompressionOptions& options;
  std::span<const i32> order;
  u64 seed;

  Filled operator()(LeafOf<V>& leaf, i64 number, ValueStore<V>& store) const {
    auto part = [&](RowRange range) { return order.subspan(std::size_t(range.begin), std::size_t(range.size())); };
    const Section<V> section{generator, part(leaf.block.rows), part(leaf.block.columns)};
    return leaf.block.admissible ? approximated(leaf, section, seed + u64(number), store) : dense(leaf, section, store);
  }

 private:
  Filled dense(LeafOf<V>& leaf, const Section<V>& section, ValueStore<V>& store) const {
    V* values = store.take(leaf.block.entries());
    section.all(values);
    const double norm_squared = square(values, leaf.block.entries());
    if (!std::isfinite(norm_squared)) bad_argument("the matrix has an entry that is not finite, or too large for its square");
    leaf.u = values;
    return {norm_squared, 0};
  }
  Filled approximated(LeafOf<V>& leaf, const Section<V>& section, u64 draws, ValueStore<V>& store) const {
    const Compressed<V> c = compress(section, options, draws);
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
};

/// Tells how far a build is, from one of its threads.
class Teller {
 public:
  Teller(const BuildProgress& progress, i64 all) : progress_(progress), all_(all) {}
  void tell(i64 done) {
    if (!progress_ || seconds_now() - last_ < 0.1) return;
    last_ = seconds_now();
    progress_(double(done) / double(all_));
  }

 private:
  const BuildProgress& progress_;
  i64 all_;
  double last_ = seconds_now();
};

// Leaves are dealt out in their order, to whoever is free: rows that a product reads together then lie together.
template <class V>
void fill_on_threads(const Filler<V>& filler, std::span<const i64> numbers, std::span<ValueStore<V>> stores,
                     std::span<LeafOf<V>> leaves, std::span<Filled> filled, i64 done_before, Teller& teller) {
  std::atomic<i64> done{done_before};
  auto fill_some = [&](i64 begin, i64 end, int thread) {
    for (i64 k = begin; k < end; k++) {
      const std::size_t l = std::size_t(numbers[std::size_t(k)]);
      filled[l] = filler(leaves[l], i64(l), stores[std::size_t(thread)]);
      done += weight(leaves[l].block);
    }
    if (thread == 0) teller.tell(done);
  };
  deal_out(i64(numbers.size()), at_once, int(stores.size()), fill_some);
}

/// GPUs that compute this matrix's leaves.
template <class V>
std::vector<std::shared_ptr<LeafDevice<V>>> devices_of(const GeneratorOf<V>& generator, std::span<const int> gpus,
                                                       std::span<const i32> order) {
  std::vector<std::shared_ptr<LeafDevice<V>>> devices;
  for (int gpu : gpus) {
    devices.push_back(generator.on_gpu(gpu, order));
    if (!devices.back()) throw Error(Errc::unsupported, "this kernel has no code for GPUs: engine='host' builds its matrices");
  }
  return devices;
}

}  // namespace

void require_usable(const BuildOptions& o) {
  const double eps = o.compression.eps;
  if (!(eps >= least_eps && eps < 1)) bad_argument("eps is below 1 and at least 1e-13: entries are no more accurate");
  if (o.leaf > most_leaf) bad_argument("leaf is at most " + std::to_string(most_leaf));
  if (o.threads < 0 || o.threads > most_threads)
    bad_argument("threads is 0, for as many as there are cores, or at most " + std::to_string(most_threads));
  if (o.compression.most_rank < 1) bad_argument("most_rank is 1 or more");
  if (!o.gpus.empty() && o.compression.approximation != Approximation::aca_plus)
    bad_argument("GPUs build by the compression aca+; others are for engine='host'");
  if (o.probes < 0) bad_argument("probes is 0 or more");
}

template <class V>
HMatrixOf<V>::HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress)
    : tree_(generator.points(), generator.size(), (require_usable(options), options.leaf), options.threads) {
  make_leaves(options.eta, options.leaf, options.threads);
  fill(generator, options, progress);
  count(options.threads);
  compare(generator, options);
  statistics_.seconds = seconds_now() - begun_;
}

template <class V>
void HMatrixOf<V>::make_leaves(double eta, i32 leaf, int threads) {
  const BlockTree blocks(tree_, eta, leaf + 1, threads);
  statistics_.nodes = blocks.nodes;
  leaves_ = LargeArray<LeafOf<V>>(blocks.leaves.size());
  auto make_some = [&](i64 begin, i64 end) {
    for (std::size_t l = std::size_t(begin); l < std::size_t(end); l++) leaves_[l] = {blocks.leaves[l]};
  };
  for_parts(0, i64(leaves_.size()), make_some, few_leaves, threads);
}

template <class V>
void HMatrixOf<V>::fill(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress) {
  LargeArray<Filled> filled(leaves_.size());
  auto weight_of_some = [&](i64 begin, i64 end) {
    i64 sum = 0;
    for (i64 l = begin; l < end; l++) sum += weight(leaves_[std::size_t(l)].block);
    return sum;
  };
  const i64 all = sum_of_parts(0, i64(leaves_.size()), weight_of_some, few_leaves, options.threads);
  std::vector<i64> left;
  Teller teller(progress, all);
  if (!options.gpus.empty()) {
    stores_.resize(options.gpus.size());
    const auto devices = devices_of(generator, options.gpus, tree_.order);
    auto tell = [&](i64 done) { teller.tell(done); };
    left = compute_on_devices<V>(devices, leaves_, options, stores_, filled, tell);
  } else {
    left.resize(leaves_.size());
    std::iota(left.begin(), left.end(), i64(0));
  }
  const std::size_t devices = stores_.size();
  stores_.resize(devices + std::size_t(thread_count(options.threads)));
  const Filler<V> filler{generator, options.compression, tree_.order, options.seed};
  i64 done = all;
  for (i64 l : left) done -= weight(leaves_[std::size_t(l)].block);
  fill_on_threads<V>(filler, left, std::span(stores_).subspan(devices), leaves_, filled, done, teller);
  double norm_squared = 0;
  for (const Filled& f : filled) {
    norm_squared += f.norm_squared;
    statistics_.redone_blocks += f.redone > 0;
  }
  statistics_.norm = std::sqrt(norm_squared);
}

template <class V>
void HMatrixOf<V>::count(int threads) {
  Statistics& s = statistics_;
  s.clusters = i64(tree_.clusters.size());
  i64 ranks = 0;
  std::mutex mutex;
  auto count_some = [&](i64 begin, i64 end) {
    Statistics of;
    i64 ranks_of = 0;
    for (const LeafOf<V>& l : leaves().subspan(std::size_t(begin), std::size_t(end - begin))) {
      (l.is_dense() ? of.dense_blocks : of.low_rank_blocks)++;
      of.stored_values += l.entries();
      if (l.is_dense()) continue;
      of.low_rank_values += l.entries();
      of.largest_rank = std::max(of.largest_rank, l.rank);
      ranks_of += l.rank;
    }
    const std::lock_guard lock(mutex);
    s.dense_blocks += of.dense_blocks;
    s.low_rank_blocks += of.low_rank_blocks;
    s.stored_values += of.stored_values;
    s.low_rank_values += of.low_rank_values;
    s.largest_rank = std::max(s.largest_rank, of.largest_rank);
    ranks += ranks_of;
  };
  for_parts(0, i64(leaves_.size()), count_some, few_leaves, threads);
  s.mean_rank = s.low_rank_blocks ? double(ranks) / double(s.low_rank_blocks) : 0;
}

template <class V>
void HMatrixOf<V>::compare(const GeneratorOf<V>& generator, const BuildOptions& options) {
  const double norm = statistics_.norm;
  if (options.probes == 0 || !(norm > 0)) return;
  const Probed probed = probe(generator, *this, options.probes, options.seed, options.threads);
  statistics_.compression_error = probed.error / norm;
  statistics_.error_of_estimate = probed.standard_error / norm;
}

template <class V>
std::vector<V> HMatrixOf<V>::diagonal() const {
  std::vector<V> d(tree_.order.size());
  for (const LeafOf<V>& l : leaves_) {
    const Block& b = l.block;
    for (i32 i = std::max(b.rows.begin, b.columns.begin); i < std::min(b.rows.end, b.columns.end); i++)
      d[std::size_t(i)] = l.u[i64(i - b.rows.begin) * b.columns.size() + (i - b.columns.begin)];
  }
  return d;
}

template <class V>
void HMatrixOf<V>::row(i32 i, V* out) const {
  for (const LeafOf<V>& l : leaves_)
    if (i >= l.block.rows.begin && i < l.block.rows.end) l.row(i, out + l.block.columns.begin);
}

template <class V>
void LeafOf<V>::row(i32 i, V* out) const {
  const i64 from = i - block.rows.begin, width = block.columns.size();
  if (is_dense()) {
    std::copy_n(u + from * width, width, out);
    return;
  }
  std::fill_n(out, width, V{});
  for (i32 k = 0; k < rank; k++) {
    const V factor = u[from * rank + k];
    for (i64 j = 0; j < width; j++) out[j] = out[j] + factor * v[k * width + j];
  }
}

template struct LeafOf<double>;
template struct LeafOf<Number>;
template class HMatrixOf<double>;
template class HMatrixOf<Number>;

}  // namespace sordino::hmatrix
