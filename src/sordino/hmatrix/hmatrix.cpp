#include "sordino/hmatrix/hmatrix.hpp"

#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/leaf_batches.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 at_once = 16;  // leaves that a thread takes
constexpr double least_eps = 1e-13;
constexpr i32 most_leaf = 1 << 20, most_threads = 4096;

void check(const BuildOptions& o) {
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
                     std::vector<LeafOf<V>>& leaves, std::span<Filled> filled, i64 done_before, Teller& teller) {
  const i64 n = i64(numbers.size());
  std::atomic<i64> next{0}, done{done_before};
  auto work = [&](i64 thread) {
    for (i64 first; (first = next.fetch_add(at_once)) < n;) {
      for (i64 k = first; k < std::min(first + at_once, n); k++) {
        const std::size_t l = std::size_t(numbers[std::size_t(k)]);
        filled[l] = filler(leaves[l], i64(l), stores[std::size_t(thread)]);
        done += weight(leaves[l].block);
      }
      if (thread == 0) teller.tell(done);
    }
  };
  auto work_or_end = [&](i64 begin, i64 end) {
    try {
      for (i64 thread = begin; thread < end; thread++) work(thread);
    } catch (...) {
      next = n;
      throw;
    }
  };
  for_parts(0, i64(stores.size()), work_or_end, 1);
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

template <class V>
HMatrixOf<V>::HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress)
    : tree_(generator.points(), generator.size(), (check(options), options.leaf)) {
  make_leaves(options.eta, options.leaf);
  fill(generator, options, progress);
  count();
  probe(generator, options);
  statistics_.seconds = seconds_now() - begun_;
}

template <class V>
void HMatrixOf<V>::make_leaves(double eta, i32 leaf) {
  BlockTree blocks(tree_, eta, leaf + 1);
  statistics_.nodes = blocks.nodes;
  for (const Block& b : blocks.leaves) leaves_.push_back({b});
}

template <class V>
void HMatrixOf<V>::fill(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress) {
  const i64 threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  std::vector<Filled> filled(leaves_.size());
  std::vector<i64> left(leaves_.size());
  std::iota(left.begin(), left.end(), i64(0));
  i64 all = 0;
  for (const LeafOf<V>& l : leaves_) all += weight(l.block);
  Teller teller(progress, all);
  if (!options.gpus.empty()) {
    stores_.resize(options.gpus.size());
    const auto devices = devices_of(generator, options.gpus, tree_.order);
    auto tell = [&](i64 done) { teller.tell(done); };
    left = compute_on_devices<V>(devices, leaves_, options, stores_, filled, tell);
  }
  const std::size_t devices = stores_.size();
  stores_.resize(devices + std::size_t(std::max<i64>(threads, 1)));
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
void HMatrixOf<V>::count() {
  Statistics& s = statistics_;
  s.clusters = i64(tree_.clusters.size());
  i64 ranks = 0;
  for (const LeafOf<V>& l : leaves_) {
    (l.is_dense() ? s.dense_blocks : s.low_rank_blocks)++;
    s.stored_values += l.entries();
    if (l.is_dense()) continue;
    s.low_rank_values += l.entries();
    s.largest_rank = std::max(s.largest_rank, l.rank);
    ranks += l.rank;
  }
  s.mean_rank = s.low_rank_blocks ? double(ranks) / double(s.low_rank_blocks) : 0;
}

// The square of a row's error has the mean ||A - H||^2 / n over rows drawn with equal chance.
template <class V>
void HMatrixOf<V>::probe(const GeneratorOf<V>& generator, const BuildOptions& options) {
  if (options.probes == 0 || !(statistics_.norm > 0)) return;
  const i64 n = size(), probes = std::min<i64>(n, options.probes);
  std::vector<double> errors(std::size_t(probes), 0.0);
  std::vector<i32> drawn;
  std::mt19937_64 draw(~options.seed);
  for (i64 p = 0; p < probes; p++) drawn.push_back(probes == n ? i32(p) : i32(draw() % u64(n)));
  auto compare = [&](i64 begin, i64 end) {
    std::vector<V> exact(tree_.order.size()), stored(tree_.order.size());
    for (i64 p = begin; p < end; p++) {
      generator.entries({&tree_.order[std::size_t(drawn[std::size_t(p)])], 1}, tree_.order, exact.data());
      row(drawn[std::size_t(p)], stored.data());
      for (i64 j = 0; j < n; j++) stored[std::size_t(j)] = stored[std::size_t(j)] - exact[std::size_t(j)];
      errors[std::size_t(p)] = double(n) * square(stored.data(), n);
    }
  };
  for_parts(0, probes, compare, options.threads ? (probes + options.threads - 1) / options.threads : 1);
  double mean = 0, spread = 0;
  for (double e : errors) mean += e / double(probes);
  for (double e : errors) spread += (e - mean) * (e - mean);
  const double error = std::sqrt(mean) / statistics_.norm;
  statistics_.compression_error = error;
  // Of the root, half of that of the square.
  const double relative = mean > 0 && probes > 1 && probes < n ? std::sqrt(spread / double(probes * (probes - 1))) / mean : 0;
  statistics_.error_of_estimate = 0.5 * error * relative;
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
  for (const LeafOf<V>& l : leaves_) {
    const i32 width = l.block.columns.size();
    if (i < l.block.rows.begin || i >= l.block.rows.end) continue;
    V* to = out + l.block.columns.begin;
    if (l.is_dense()) {
      std::copy_n(l.u + i64(i - l.block.rows.begin) * width, width, to);
      continue;
    }
    std::fill_n(to, width, V{});
    const V* u = l.u + i64(i - l.block.rows.begin) * l.rank;
    for (i32 k = 0; k < l.rank; k++)
      for (i32 j = 0; j < width; j++) to[j] = to[j] + u[k] * l.v[i64(k) * width + j];
  }
}

template class HMatrixOf<double>;
template class HMatrixOf<Number>;

}  // namespace sordino::hmatrix
