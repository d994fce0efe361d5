#include "sordino/precond/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/precond/dense_inverse.hpp"

namespace sordino {
namespace {

using namespace aggregates;

constexpr double most_within = 0.5;  // of a level's rows: what the next one may have where ranks pair their own
constexpr double most_left = 0.8;    // of a level's rows: what the next one may have
constexpr i64 few_rows = 64;         // of a level that is not coarsened
constexpr i64 least_rows = 1 << 10;  // that are worth a thread

Entries entries_of(const CsrView& A) { return {A.indptr, A.indices, A.values}; }

std::vector<Coupled> couplings_of(const CsrView& A) {
  std::vector<Coupled> found(static_cast<std::size_t>(A.n));
  const Entries entries = entries_of(A);
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++) found[std::size_t(i)] = coupled(entries, i);
      },
      least_rows);
  return found;
}

/// Aggregates of one rank's rows, [first, end).
class Pairing {
 public:
  Pairing(const CsrView& A, const std::vector<Coupled>& rows, Lonely lonely, i64 first, i64 end, std::vector<i32>& of)
      : rule_{entries_of(A), rows.data()}, lonely_(lonely), rank_{first, end}, of_(of) {}

  /// Numbers them from 0, as their first rows are. How many they are.
  i64 find() {
    for (i64 i = rank_.first; i < rank_.end; i++) {
      if (rule_.rows[i].most < 0) of(i) = outside;
      if (of(i) != unpaired) continue;
      const i32 j = rule_.partner(i, rank_, [&](i64 k) { return of(k) == unpaired; });
      if (j >= 0) of(i) = of(j) = i32(i);
    }
    for (i64 i = rank_.first; i < rank_.end; i++)
      if (of(i) == unpaired) join(i, rule_.joined(i, rank_));
    return number();
  }

 private:
  i32& of(i64 row) { return of_[std::size_t(row)]; }  // a row of its aggregate, until they are numbered

  void join(i64 i, i64 j) {
    if (j >= 0 && of(j) == unpaired) of(j) = i32(j);
    of(i) = j >= 0 ? of(j) : rule_.by_itself(i, lonely_);
  }

  i64 number() {
    std::vector<i32> numbers(std::size_t(rank_.end - rank_.first), unpaired);
    i32 count = 0;
    for (i64 i = rank_.first; i < rank_.end; i++) {
      if (of(i) == outside) continue;
      i32& its = numbers[std::size_t(of(i) - rank_.first)];
      if (its == unpaired) its = count++;
      of(i) = its;
    }
    return count;
  }

  Rule rule_;
  Lonely lonely_;
  OneRanks rank_;
  std::vector<i32>& of_;
};

/// Of rows that ranks own as `cuts` says, [ranks + 1].
Aggregates pairs(const CsrView& A, const std::vector<Coupled>& rows, Lonely lonely, const std::vector<i64>& cuts) {
  const i64 ranks = i64(cuts.size()) - 1;
  Aggregates found{std::vector<i32>(std::size_t(A.n), unpaired), std::vector<i64>(cuts.size(), 0)};
  auto for_ranks = [&](const auto& act) {
    for_parts(
        0, ranks,
        [&](i64 begin, i64 end) {
          for (i64 r = begin; r < end; r++) act(std::size_t(r));
        },
        1);
  };
  for_ranks([&](std::size_t r) { found.cuts[r + 1] = Pairing(A, rows, lonely, cuts[r], cuts[r + 1], found.of).find(); });
  std::partial_sum(found.cuts.begin(), found.cuts.end(), found.cuts.begin());
  for_ranks([&](std::size_t r) {
    for (i64 i = cuts[r]; i < cuts[r + 1]; i++)
      if (i32& of = found.of[std::size_t(i)]; of != outside) of += i32(found.cuts[r]);
  });
  return found;
}

/// What an aggregate's rows are coupled with.
struct Couplings {
  std::vector<std::pair<i32, double>> entries = {};  // aggregate, value; those of one aggregate stand together
  double diagonals = 0;                              // what those of its rows add up to

  /// Entries are in order of their values, too, so that those of (i, j) and of (j, i) are added up alike.
  void find(const CsrView& A, const MapView& P, const MapView& R, i64 aggregate) {
    entries.clear();
    diagonals = 0;
    for (i64 m = R.indptr[aggregate]; m < R.indptr[aggregate + 1]; m++) add_row(A, P, R.indices[m]);
    std::sort(entries.begin(), entries.end());
  }

 private:
  void add_row(const CsrView& A, const MapView& P, i64 i) {
    const i64 begin = A.begin(i), end = A.begin(i + 1);
    bool couples = false;
    for (i64 k = begin; k < end; k++) couples |= A.indices[k] != i && A.values[k] != 0;
    for (i64 k = begin; k < end; k++) {
      const i64 j = A.indices[k], at = P.indptr[j];
      if (j == i) diagonals += A.values[k];
      if (at < P.indptr[j + 1]) entries.emplace_back(P.indices[at], couples ? A.values[k] : 0);
    }
  }
};

/// Calls act(aggregate, its couplings) for all of them.
template <class Act>
void for_aggregates(const CsrView& A, const MapView& P, const MapView& R, const Act& act) {
  for_parts(
      0, P.columns,
      [&](i64 begin, i64 end) {
        Couplings found;
        for (i64 row = begin; row < end; row++) {
          found.find(A, P, R, row);
          act(row, found);
        }
      },
      least_rows);
}

class HostLevels final : public LevelMaker {
 public:
  Aggregates aggregates(const CsrView& A, const std::vector<i64>& cuts) override {
    return fours(A, cuts, [](Aggregates found) { return found; });
  }
  CsrMatrix coarse(const CsrView& A, const MapView& P) override { return coarse_matrix(A, P, transposed(P).view()); }
};

/// Aggregates of rows of all ranks, of which the one that has an aggregate's first row owns it.
Aggregates across(LevelMaker& maker, const CsrView& A, const std::vector<i64>& cuts) {
  Aggregates found = maker.aggregates(A, {0, A.n});
  std::vector<i64> owned(cuts.size(), 0);
  for (std::size_t r = 0; r + 1 < cuts.size(); r++) {
    owned[r + 1] = owned[r];
    for (i64 i = cuts[r]; i < cuts[r + 1]; i++) owned[r + 1] = std::max<i64>(owned[r + 1], found.of[std::size_t(i)] + 1);
  }
  found.cuts = std::move(owned);
  return found;
}

/// Of ranks.
i64 owners(const std::vector<i64>& cuts) {
  i64 count = 0;
  for (std::size_t r = 0; r + 1 < cuts.size(); r++) count += cuts[r] < cuts[r + 1];
  return count;
}

/// The next level, and where ranks' rows of it begin; none where it would have too many rows.
std::optional<AggregatedLevel> next_level(LevelMaker& maker, const CsrView& A, std::vector<i64>& cuts) {
  const i64 ranks = owners(cuts);
  Aggregates found = maker.aggregates(A, cuts);
  if (ranks > 1 && found.leaves_more_than(most_within)) found = across(maker, A, cuts);
  if (found.count() < ranks || found.leaves_more_than(most_left)) return std::nullopt;
  MapMatrix P = interpolation(found);
  CsrMatrix coarse = maker.coarse(A, P.view());
  cuts = std::move(found.cuts);
  return AggregatedLevel{std::move(P), std::move(coarse)};
}

/// The same by a GPU, which goes where it has too little memory: then, and without one, by threads.
std::optional<AggregatedLevel> next_level(std::unique_ptr<LevelMaker>& gpu, const CsrView& A, std::vector<i64>& cuts) {
  if (gpu) try {
      return next_level(*gpu, A, cuts);
    } catch (const Error& e) {
      if (e.code() != Errc::unsupported) throw;
      gpu.reset();
    }
  return next_level(*host_levels(), A, cuts);
}

}  // namespace

void require_few(i64 rows, int ranks) {
  if (rows > most_inverted)
    bad_argument("precond amg adds up rows that are strongly coupled, and on " + std::to_string(ranks) +
                 (ranks == 1 ? " rank" : " ranks") + " ends with " + std::to_string(rows) + " of them, more than " +
                 std::to_string(most_inverted) + ", which are inverted: use precond jacobi");
}

MapMatrix interpolation(const Aggregates& aggregates) {
  const i64 rows = i64(aggregates.of.size());
  MapMatrix P{.rows = rows, .columns = aggregates.count(), .indptr = {0}};
  P.indptr.reserve(std::size_t(rows) + 1);
  P.indices.reserve(std::size_t(rows));
  for (i32 of : aggregates.of) {
    if (of != outside) P.indices.push_back(of);
    P.indptr.push_back(i64(P.indices.size()));
  }
  P.values.assign(P.indices.size(), 1.0);
  return P;
}

Aggregates fours(const CsrView& A, const std::vector<i64>& cuts, const std::function<Aggregates(Aggregates)>& told) {
  const std::vector<Coupled> rows = couplings_of(A);
  Aggregates first = told(pairs(A, rows, Lonely::outside, cuts));
  const MapMatrix P = interpolation(first);
  const CsrMatrix between = coarse_matrix(A, P.view(), transposed(P.view()).view());
  std::vector<Coupled> of_pairs = couplings_of(between.view());
  for (std::size_t i = 0; i < rows.size(); i++)
    if (first.of[i] != outside) {
      double& most = of_pairs[std::size_t(first.of[i])].most;
      most = std::max(most, rows[i].most / over_correction);  // as the entries between pairs
    }
  Aggregates second = pairs(between.view(), of_pairs, Lonely::alone, first.cuts);
  for (i32& of : first.of)
    if (of != outside) of = second.of[std::size_t(of)];
  return told({std::move(first.of), std::move(second.cuts)});
}

CsrMatrix coarse_matrix(const CsrView& A, const MapView& P, const MapView& R) {
  CsrMatrix to{.n = P.columns, .indptr = std::vector<i64>(std::size_t(P.columns) + 1, 0), .indices = {}, .values = {}};
  for_aggregates(A, P, R, [&](i64 row, const Couplings& found) {
    i64 count = 0;
    for (std::size_t k = 0; k < found.entries.size(); k++)
      count += k == 0 || found.entries[k].first != found.entries[k - 1].first;
    to.indptr[std::size_t(row) + 1] = count;
  });
  std::partial_sum(to.indptr.begin(), to.indptr.end(), to.indptr.begin());
  to.indices.resize(std::size_t(to.indptr.back()));
  to.values.resize(to.indices.size());
  sum_over_aggregates(A, P, R, to);
  return to;
}

std::unique_ptr<LevelMaker> host_levels() { return std::make_unique<HostLevels>(); }

std::vector<AggregatedLevel> aggregated_levels(const CsrView& A, const Partition& first, std::unique_ptr<LevelMaker> gpu,
                                               i64 least_on_gpu) {
  std::vector<i64> cuts;
  for (int r = 0; r <= first.ranks(); r++) cuts.push_back(first.first_row(r));
  std::vector<AggregatedLevel> levels;
  CsrView here = A;
  while (here.n > few_rows) {
    if (here.n < least_on_gpu) gpu.reset();
    std::optional<AggregatedLevel> next = next_level(gpu, here, cuts);
    if (!next) break;
    levels.push_back(std::move(*next));
    here = levels.back().A.view();
  }
  require_few(here.n, first.ranks());
  return levels;
}

void sum_over_aggregates(const CsrView& A, const MapView& P, const MapView& R, CsrMatrix& coarse) {
  for_aggregates(A, P, R, [&](i64 row, const Couplings& found) {
    std::size_t to = std::size_t(coarse.indptr[std::size_t(row)]);
    for (auto entry = found.entries.begin(); entry != found.entries.end(); to++) {
      const i32 column = entry->first;
      double sum = 0;
      for (; entry != found.entries.end() && entry->first == column; ++entry) sum += entry->second;
      coarse.indices[to] = column;
      coarse.values[to] = coarse_entry(column == row, sum, found.diagonals);
    }
  });
}

}  // namespace sordino
