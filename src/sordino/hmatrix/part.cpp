// What one of several processes builds of an H-matrix, and what they tell each other.
#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <iterator>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/leaf_filler.hpp"

namespace sordino::hmatrix {
namespace {

constexpr double terms_a_digit = 2;               // of a block, about
constexpr std::size_t leaves_at_once = 1 << 18;   // that are told to others
constexpr double least_patience = 60, times = 4;  // s, and of what this process has taken

/// Numbers that are in both, which increase.
std::vector<i64> common(const std::vector<i64>& a, const std::vector<i64>& b) {
  std::vector<i64> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

bool on_diagonal(const Block& b) { return std::max(b.rows.begin, b.columns.begin) < std::min(b.rows.end, b.columns.end); }

void require_usable(const Ranks& r, i64 n) {
  const auto at = std::to_string(r.process) + " of " + std::to_string(r.processes);
  if (r.process < 0 || r.process >= r.processes) bad_argument("there is no process " + at);
  if (r.of_a_process < 1) bad_argument("a process has one rank or more");
  const auto& c = r.cuts;
  if (c.empty()) return;
  const bool whole = i64(c.size()) == i64(r.all()) + 1 && c.front() == 0 && c.back() == n;
  if (!whole || !std::ranges::is_sorted(c, std::less_equal<>{}))
    bad_argument("rows are cut for " + std::to_string(i64(c.size()) - 1) + " ranks, and there are " + std::to_string(r.all()) +
                 ", or they do not increase from 0 to " + std::to_string(n));
}

/// Marks leaves that these ranks multiply.
template <class V>
std::vector<char> marked(const HMatrixOf<V>& matrix, const Partition& partition, Distribution how, const Ranks& ranks) {
  std::vector<char> mine(matrix.leaves().size());
  for (int r = ranks.first(); r < ranks.first() + ranks.of_a_process; r++)
    for (const LeafOf<V>* l : share_of(matrix, partition, how, r, true).leaves)
      mine[std::size_t(l - matrix.leaves().data())] = 1;
  return mine;
}

/// Numbers that are the same where generator, options and ranks are: of whole numbers halves, of bits.
template <class V>
std::vector<double> facts_of(const GeneratorOf<V>& generator, const HMatrixOf<V>& matrix, const BuildOptions& o,
                             const Ranks& r) {
  const auto& order = matrix.tree().order;
  V entry{};
  generator.entries(std::span(order).first(1), std::span(order).last(1), &entry);  // which tells kernels apart
  u64 print = 0;
  auto add = [&print](u64 word) { print = (print ^ word) * 0x9e3779b97f4a7c15u, print ^= print >> 29; };
  auto add_real = [&](double x) { add(std::bit_cast<u64>(x)); };
  for (i64 k = 0; k < 3 * matrix.size(); k++) add_real(generator.points()[k]);
  for (i32 k = 0; k < words_of<V>; k++) add_real(words(&entry)[k]);
  for (double x : {o.compression.eps, o.eta}) add_real(x);
  for (i64 k : {i64(o.compression.approximation), i64(o.compression.recompress), i64(o.compression.certify), i64(o.leaf),
                i64(o.compression.most_rank), i64(o.seed), i64(o.probes), i64(o.gpus.empty()), matrix.size(), i64(r.processes),
                i64(r.of_a_process), i64(r.how)})
    add(u64(k));
  for (i64 cut : r.cuts) add(u64(cut));
  std::vector<double> facts;
  for (u32 half : {u32(print), u32(print >> 32)}) facts.insert(facts.end(), {double(half), double(~half)});
  return facts;
}

void require_same(Accord& processes, const std::vector<double>& mine) {
  const std::vector<double> all = processes.most(mine);
  if (processes.most({all == mine ? 0.0 : 1.0})[0] > 0)
    bad_argument(
        "processes that build an H-matrix together have different surfaces or options, or numbers of ranks: give all of them "
        "the same");
}

bool is_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Throws what any process has failed of; what is no Error, such as a caller's own exception, stays one where it was thrown.
void tell(Accord& processes, const std::exception_ptr& failed) {
  try {
    processes.together([&] {
      if (failed) std::rethrow_exception(failed);
    });
  } catch (...) {
    if (failed && !is_error(failed)) std::rethrow_exception(failed);
    throw;
  }
}

template <class Work>
std::exception_ptr failure_of(const Work& work) {
  try {
    work();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

/// Runs `work`, then meets the others.
template <class Work>
Accord met(const BuildPart& part, const Work& work) {
  const double begin = seconds_now();
  std::exception_ptr failed = failure_of(work);
  std::unique_ptr<Processes> others;
  const std::exception_ptr missed = failure_of([&] { others = part.meet(least_patience + times * (seconds_now() - begin)); });
  if (missed) std::rethrow_exception(failed ? failed : missed);
  Accord processes(std::move(others));
  processes.enter("the building of an H-matrix");
  if (!failed && processes.count() != part.ranks.processes)
    failed = failure_of([&] {
      bad_argument("a part is asked for of " + std::to_string(part.ranks.processes) + " processes, and there are " +
                   std::to_string(processes.count()));
    });
  tell(processes, failed);
  return processes;
}

}  // namespace

template <class V>
HMatrixOf<V>::HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildPart& part,
                        const BuildProgress& progress) {
  Ranks ranks = part.ranks;
  require_usable(ranks, generator.size());
  LargeArray<Filled> filled;
  std::optional<LeafFiller<V>> filler;
  Accord processes = met(part, [&] {
    plant(generator, options);
    filled = LargeArray<Filled>(leaves_.size());
    const std::vector<i64> mine = first_share(options, ranks);
    filler.emplace(generator, options, tree_.order, leaves_, stores_, filled);
    statistics_.phases.devices = lap();
    filler->fill(mine, progress);
  });
  require_same(processes, facts_of(generator, *this, options, ranks));
  exchange(processes, filled);
  take(*filler, filled);
  const std::vector<i64> again = compare(generator, options, *filler, filled, &processes);
  count(options.threads);
  statistics_.phases.probes = lap();
  const Partition partition = partition_of(*this, ranks);
  ranks.cuts.clear();
  for (int r = 0; r <= ranks.all(); r++) ranks.cuts.push_back(partition.first_row(r));
  const std::vector<i64> lacking = settle(ranks);
  auto at_the_end = [&](double) {
    if (progress) progress(1);
  };
  tell(processes, failure_of([&] {
         filler->fill(lacking, at_the_end);
         filler->redo(common(lacking, again));
       }));
  part_ = std::move(ranks);
  statistics_.seconds = processes.most({seconds_now() - begun_})[0];
}

// By leaves, whose shares are equal, whatever ranks multiply later; in a grid as later.
template <class V>
std::vector<i64> HMatrixOf<V>::first_share(const BuildOptions& options, const Ranks& ranks) {
  const auto terms = i32(std::ceil(-terms_a_digit * std::log10(options.compression.eps)));
  auto expect = [&](auto rank_of) {
    for (LeafOf<V>& l : leaves_)
      if (l.block.admissible) l.rank = rank_of(l.block);
  };
  expect([&](const Block& b) {
    return std::max(1, std::min({terms, options.compression.most_rank, b.rows.size(), b.columns.size()}));
  });
  const Distribution how = ranks.how == Distribution::rows ? Distribution::leaves : ranks.how;
  const std::vector<char> mine = marked(*this, partition_of(*this, ranks), how, ranks);
  expect([](const Block&) { return -1; });
  std::vector<i64> numbers;
  for (std::size_t l = 0; l < mine.size(); l++)
    if (mine[l]) numbers.push_back(i64(l));
  return numbers;
}

/// Of each leaf its rank, norm and whether it was done again, from who has compressed it.
template <class V>
void HMatrixOf<V>::exchange(Accord& processes, std::span<Filled> filled) {
  for (std::size_t first = 0; first < leaves_.size(); first += leaves_at_once) {
    const std::size_t end = std::min(leaves_.size(), first + leaves_at_once);
    std::vector<double> told(3 * (end - first));  // zeros of what others have
    for (std::size_t l = first; l < end; l++) {
      if (!leaves_[l].u && leaves_[l].rank != 0) continue;
      const double said[] = {leaves_[l].rank + 2.0, filled[l].norm_squared, double(filled[l].redone)};
      std::ranges::copy(said, told.begin() + i64(3 * (l - first)));
    }
    told = processes.most(std::move(told));
    for (std::size_t l = first; l < end; l++) {
      const double* said = &told[3 * (l - first)];
      leaves_[l].rank = i32(said[0]) - 2;
      filled[l] = {said[1], int(said[2])};
    }
  }
}

/// Drops leaves that others multiply; the numbers of those that are lacking. Those on the diagonal are in every process, for
/// preconditioners that divide by it, or by its blocks.
template <class V>
std::vector<i64> HMatrixOf<V>::settle(const Ranks& ranks) {
  const std::vector<char> mine = marked(*this, partition_of(*this, ranks), ranks.how, ranks);
  std::vector<i64> lacking;
  std::vector<const V*> used;
  for (std::size_t l = 0; l < mine.size(); l++) {
    LeafOf<V>& leaf = leaves_[l];
    const bool needed = (mine[l] || on_diagonal(leaf.block)) && leaf.rank != 0;
    if (!needed) leaf.u = leaf.v = nullptr;
    if (needed && leaf.u) used.push_back(leaf.u);
    if (needed && !leaf.u) lacking.push_back(i64(l));
  }
  std::ranges::sort(used);
  for (ValueStore<V>& store : stores_) store.keep(used);
  return lacking;
}

template <class V>
void HMatrixOf<V>::require_whole(const char* what) const {
  if (part_)
    bad_argument(std::string("process ") + std::to_string(part_->process) + " holds its part of the H-matrix alone, and " +
                 what + " needs the whole: build that in this process");
}

template <class V>
void HMatrixOf<V>::require_part_of(const Ranks& ranks) const {
  if (!part_ || *part_ == ranks) return;
  const std::string each = std::to_string(part_->of_a_process);
  bad_argument("the H-matrix was built in parts for " + each + " ranks in each of " + std::to_string(part_->processes) +
               " processes with distribution " + name_of(part_->how) +
               ", and others are to multiply by it: take these, or build the whole");
}

template <class V>
i64 HMatrixOf<V>::held_bytes() const {
  i64 sum = 0;
  for (const ValueStore<V>& store : stores_) sum += store.bytes();
  return sum;
}

template HMatrixOf<double>::HMatrixOf(const GeneratorOf<double>&, const BuildOptions&, const BuildPart&, const BuildProgress&);
template HMatrixOf<Number>::HMatrixOf(const GeneratorOf<Number>&, const BuildOptions&, const BuildPart&, const BuildProgress&);
template void HMatrixOf<double>::exchange(Accord&, std::span<Filled>);
template void HMatrixOf<Number>::exchange(Accord&, std::span<Filled>);
template void HMatrixOf<double>::require_whole(const char*) const;
template void HMatrixOf<Number>::require_whole(const char*) const;
template void HMatrixOf<double>::require_part_of(const Ranks&) const;
template void HMatrixOf<Number>::require_part_of(const Ranks&) const;
template i64 HMatrixOf<double>::held_bytes() const;
template i64 HMatrixOf<Number>::held_bytes() const;

}  // namespace sordino::hmatrix
