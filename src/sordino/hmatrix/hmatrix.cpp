#include "sordino/hmatrix/hmatrix.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/leaf_filler.hpp"
#include "sordino/hmatrix/probes.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 few_leaves = 1 << 12;  // that one thread counts
constexpr int few_probes = 64;       // rows whose entries may all be in memory
constexpr int shares = 4;            // of threads: one of them computes rows while a GPU computes leaves
constexpr double least_eps = 1e-13;
constexpr int most_rounds = 3;  // of comparing the whole, and doing what has missed again
constexpr i32 most_leaf = 1 << 20, most_threads = 4096;

/// Leaves that are off by more than any may be in the rows that were compared alone.
template <class V>
std::vector<i64> missed_leaves(const Probed& probed, std::span<const LeafOf<V>> leaves, std::span<const Filled> filled,
                               const CompressionOptions& o) {
  std::vector<i64> missed;
  for (const auto& [l, squared] : probed.leaves) {
    const LeafOf<V>& leaf = leaves[std::size_t(l)];
    if (!o.certify || leaf.is_dense() || leaf.rank >= o.most_rank || leaf.block.entries() > most_entries) continue;
    if (squared > std::pow(largest_error * o.eps, 2) * filled[std::size_t(l)].norm_squared) missed.push_back(l);
  }
  return missed;
}

/// Entries of the rows that are compared at the end, computed by threads while others wait for a GPU; not valid: by nobody yet.
/// Several GPUs keep all threads busy with values on their way.
template <class V>
std::future<ExactRows<V>> rows_meanwhile(const GeneratorOf<V>& generator, std::span<const i32> order, const BuildOptions& o) {
  if (o.gpus.size() != 1 || o.probes == 0 || o.probes > few_probes) return {};
  const int threads = thread_count_of_each(o.threads, shares);
  auto compute = [&generator, order, probes = o.probes, seed = o.seed, threads] {
    return exact_rows(generator, order, probes, seed, threads);
  };
  return std::async(std::launch::async, compute);
}

}  // namespace

void require_usable(const BuildOptions& o) {
  const double eps = o.compression.eps;
  if (!(eps >= least_eps && eps < 1)) bad_argument("eps is below 1 and at least 1e-13: entries are no more accurate");
  require_eta(o.eta);
  if (o.leaf > most_leaf) bad_argument("leaf is at most " + std::to_string(most_leaf));
  if (o.threads < 0 || o.threads > most_threads)
    bad_argument("threads is 0, for as many as there are cores, or at most " + std::to_string(most_threads));
  if (o.compression.most_rank < 1) bad_argument("most_rank is 1 or more");
  if (!o.gpus.empty() && o.compression.approximation != Approximation::aca_plus)
    bad_argument("GPUs build by the compression aca+; others are for engine='host'");
  if (o.probes < 0) bad_argument("probes is 0 or more");
}

template <class V>
HMatrixOf<V>::HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress) {
  plant(generator, options);
  fill(generator, options, progress);
  statistics_.seconds = seconds_now() - begun_;
}

/// Makes the trees, by whoever computes leaves.
template <class V>
void HMatrixOf<V>::plant(const GeneratorOf<V>& generator, const BuildOptions& options) {
  require_usable(options);
  const TreeOptions o{.eta = options.eta, .leaf = options.leaf, .threads = options.threads};
  take_trees(
      options.gpus.empty() ? make_trees(generator.points(), generator.size(), o) : generator.trees_on_gpus(options.gpus, o),
      options.threads);
  statistics_.phases.trees = lap();
}

template <class V>
void HMatrixOf<V>::take_trees(Trees trees, int threads) {
  tree_ = std::move(trees.clusters);
  const BlockTree& blocks = trees.blocks;
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
  std::vector<i64> all(leaves_.size());
  std::iota(all.begin(), all.end(), i64(0));
  LeafFiller<V> filler(generator, options, tree_.order, leaves_, stores_, filled);
  statistics_.phases.devices = lap();
  std::future<ExactRows<V>> rows = rows_meanwhile<V>(generator, tree_.order, options);
  filler.fill(all, progress);
  take(filler, filled);
  auto compare_rows = [&] {
    const ExactRows<V> known = rows.valid() ? rows.get() : ExactRows<V>{};
    compare(generator, options, filler, filled, nullptr, known.rows.empty() ? nullptr : &known);
  };
  auto step = [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; k++) k == 0 ? compare_rows() : filler.release();  // for which GPUs take their time
  };
  for_parts(0, 2, step, 1, 2);
  count(options.threads);
  statistics_.phases.probes = lap();
}

/// Seconds since it was asked for last.
template <class V>
double HMatrixOf<V>::lap() {
  const double now = seconds_now();
  return now - std::exchange(lapped_, now);
}

template <class V>
void HMatrixOf<V>::take(const LeafFiller<V>& filler, std::span<const Filled> filled) {
  statistics_.phases.leaves = lap();
  statistics_.phases.waiting = filler.device_seconds().waiting;
  statistics_.phases.fetching = filler.device_seconds().fetching;
  sum_up(filled);
}

template <class V>
void HMatrixOf<V>::sum_up(std::span<const Filled> filled) {
  double norm_squared = 0;
  statistics_.redone_blocks = 0;
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

/// Returns the numbers of leaves that were done again, which increase.
template <class V>
std::vector<i64> HMatrixOf<V>::compare(const GeneratorOf<V>& generator, const BuildOptions& options, LeafFiller<V>& filler,
                                       std::span<Filled> filled, Accord* processes, const ExactRows<V>* known) {
  std::vector<i64> again;
  for (int round = 0; options.probes > 0 && statistics_.norm > 0; round++) {
    const u64 seed = options.seed + u64(round);
    const Probed probed =
        probe(generator, *this, options.probes, seed, options.threads, processes, round == 0 ? known : nullptr);
    statistics_.compression_error = probed.error / statistics_.norm;
    statistics_.error_of_estimate = probed.standard_error / statistics_.norm;
    const std::vector<i64> missed = missed_leaves<V>(probed, leaves_, filled, options.compression);
    if (missed.empty() || round == most_rounds) break;
    auto redo = [&] { filler.redo(missed); };
    processes ? processes->together(redo) : redo();
    if (processes) exchange(*processes, filled);
    sum_up(filled);
    again.insert(again.end(), missed.begin(), missed.end());
  }
  std::ranges::sort(again);
  again.erase(std::ranges::unique(again).begin(), again.end());
  return again;
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
  require_whole("a row");
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
