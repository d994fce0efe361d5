#include "sordino/precond/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/precond/dense_inverse.hpp"

namespace sordino {
namespace {

constexpr double strong = 0.25;          // of a row's largest coupling
constexpr double outweighed = 0.1;       // of a diagonal: what stands beside it in a row that is held
constexpr double over_correction = 1.6;  // of aggregates of four rows
constexpr double most_within = 0.5;      // of a level's rows: what the next one may have where ranks pair their own
constexpr double most_left = 0.8;        // of a level's rows: what the next one may have
constexpr double negligible = 1e-12;     // of what an aggregate's diagonals add up to: rounding
constexpr i64 few_rows = 64;             // of a level that is not coarsened
constexpr i64 least_rows = 1 << 10;      // that are worth a thread
constexpr i32 unpaired = -1, outside = -2;

/// Which aggregate each row is in.
struct Aggregates {
  std::vector<i32> of;    // [rows], or `outside`
  std::vector<i64> cuts;  // [parts + 1] the first aggregate of each part of the rows, and how many there are

  i64 count() const { return cuts.back(); }
  bool leaves_more_than(double part) const { return double(count()) > part * double(of.size()); }
};

/// How a row is coupled.
struct Coupled {
  double most = -1;   // the largest -a_ij, or 0; -1: with nobody
  bool held = false;  // its diagonal outweighs all of them: smoothing solves it
};

std::vector<Coupled> couplings_of(const CsrView& A) {
  std::vector<Coupled> found(static_cast<std::size_t>(A.n));
  auto look = [&](i64 i) {
    Coupled& row = found[std::size_t(i)];
    double diagonal = 0, others = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      const double value = A.values[k];
      if (A.indices[k] == i)
        diagonal = value;
      else if (value != 0)
        row.most = std::max({row.most, -value, 0.0}), others += std::abs(value);
    }
    row.held = others < outweighed * diagonal;
  };
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++) look(i);
      },
      least_rows);
  return found;
}

/// What becomes of a row that is held, and has no such neighbour.
enum class Lonely { outside, alone };

/// Aggregates of one rank's rows, [first, end).
class Pairing {
 public:
  Pairing(const CsrView& A, const std::vector<Coupled>& rows, Lonely lonely, i64 first, i64 end, std::vector<i32>& of)
      : A_(A), rows_(rows), lonely_(lonely), first_(first), end_(end), of_(of) {}

  /// Numbers them from 0, as their first rows are. How many they are.
  i64 find() {
    for (i64 i = first_; i < end_; i++) {
      if (row(i).most < 0) of(i) = outside;
      if (of(i) != unpaired) continue;
      const i64 j = strongest(i, [&](i64 k, double coupling) { return of(k) == unpaired && is_strong(k, coupling); });
      if (j >= 0) of(i) = of(j) = i32(i);
    }
    for (i64 i = first_; i < end_; i++)
      if (of(i) == unpaired) join(i, strongest(i, [](i64, double) { return true; }));
    return number();
  }

 private:
  i32& of(i64 row) { return of_[std::size_t(row)]; }  // a row of its aggregate, until they are numbered
  const Coupled& row(i64 i) const { return rows_[std::size_t(i)]; }
  bool is_strong(i64 i, double coupling) const { return coupling > 0 && coupling >= strong * row(i).most; }

  /// Of the rank's rows that are held if row i is, and that `may` says, the one that it is coupled with most; -1: with none
  /// strongly.
  template <class May>
  i64 strongest(i64 i, const May& may) const {
    i64 found = -1;
    double most = 0;
    for (i64 k = A_.begin(i); k < A_.begin(i + 1); k++) {
      const i64 j = A_.indices[k];
      const double coupling = -A_.values[k];
      if (j == i || j < first_ || j >= end_ || row(j).held != row(i).held) continue;
      if (coupling > most && is_strong(i, coupling) && may(j, coupling)) found = j, most = coupling;
    }
    return found;
  }

  void join(i64 i, i64 j) {
    if (j >= 0 && of(j) == unpaired) of(j) = i32(j);
    const bool is_outside = row(i).held && lonely_ == Lonely::outside;
    of(i) = j >= 0 ? of(j) : is_outside ? outside : i32(i);
  }

  i64 number() {
    std::vector<i32> numbers(std::size_t(end_ - first_), unpaired);
    i32 count = 0;
    for (i64 i = first_; i < end_; i++) {
      if (of(i) == outside) continue;
      i32& its = numbers[std::size_t(of(i) - first_)];
      if (its == unpaired) its = count++;
      of(i) = its;
    }
    return count;
  }

  const CsrView& A_;
  const std::vector<Coupled>& rows_;
  Lonely lonely_;
  i64 first_, end_;
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

CsrMatrix coarse_matrix(const CsrView& A, const MapView& P) {
  const MapMatrix R = transposed(P);
  CsrMatrix to{.n = P.columns, .indptr = std::vector<i64>(std::size_t(P.columns) + 1, 0), .indices = {}, .values = {}};
  for_aggregates(A, P, R.view(), [&](i64 row, const Couplings& found) {
    i64 count = 0;
    for (std::size_t k = 0; k < found.entries.size(); k++)
      count += k == 0 || found.entries[k].first != found.entries[k - 1].first;
    to.indptr[std::size_t(row) + 1] = count;
  });
  std::partial_sum(to.indptr.begin(), to.indptr.end(), to.indptr.begin());
  to.indices.resize(std::size_t(to.indptr.back()));
  to.values.resize(to.indices.size());
  sum_over_aggregates(A, P, R.view(), to);
  return to;
}

/// Pairs of pairs. What is strong for a pair must be so for its rows, too: one that is all of its phase is coupled with others
/// weakly, and smoothing on the level of its rows could not tell two of them apart in one aggregate.
Aggregates fours(const CsrView& A, const std::vector<i64>& cuts) {
  const std::vector<Coupled> rows = couplings_of(A);
  Aggregates first = pairs(A, rows, Lonely::outside, cuts);
  const CsrMatrix between = coarse_matrix(A, interpolation(first).view());
  std::vector<Coupled> of_pairs = couplings_of(between.view());
  for (std::size_t i = 0; i < rows.size(); i++)
    if (first.of[i] != outside) {
      double& most = of_pairs[std::size_t(first.of[i])].most;
      most = std::max(most, rows[i].most / over_correction);  // as the entries between pairs
    }
  Aggregates second = pairs(between.view(), of_pairs, Lonely::alone, first.cuts);
  for (i32& of : first.of)
    if (of != outside) of = second.of[std::size_t(of)];
  return {std::move(first.of), std::move(second.cuts)};
}

/// The same of rows of all ranks, of which the one that has an aggregate's first row owns it.
Aggregates across(const CsrView& A, const std::vector<i64>& cuts) {
  Aggregates found = fours(A, {0, A.n});
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

void require_few(i64 rows, int ranks) {
  if (rows > most_inverted)
    bad_argument("precond amg adds up rows that are strongly coupled, and on " + std::to_string(ranks) +
                 (ranks == 1 ? " rank" : " ranks") + " ends with " + std::to_string(rows) + " of them, more than " +
                 std::to_string(most_inverted) + ", which are inverted: use precond jacobi");
}

}  // namespace

std::vector<AggregatedLevel> aggregated_levels(const CsrView& A, const Partition& first) {
  const int ranks = first.ranks();
  std::vector<i64> cuts;
  for (int r = 0; r <= ranks; r++) cuts.push_back(first.first_row(r));
  std::vector<AggregatedLevel> levels;
  CsrView here = A;
  while (here.n > few_rows) {
    Aggregates found = fours(here, cuts);
    if (owners(cuts) > 1 && found.leaves_more_than(most_within)) found = across(here, cuts);
    if (found.count() < owners(cuts) || found.leaves_more_than(most_left)) break;
    MapMatrix P = interpolation(found);
    CsrMatrix coarse = coarse_matrix(here, P.view());
    levels.push_back({std::move(P), std::move(coarse)});
    here = levels.back().A.view();
    cuts = std::move(found.cuts);
  }
  require_few(here.n, ranks);
  return levels;
}

void sum_over_aggregates(const CsrView& A, const MapView& P, const MapView& R, CsrMatrix& coarse) {
  for_aggregates(A, P, R, [&](i64 row, const Couplings& found) {
    std::size_t to = std::size_t(coarse.indptr[std::size_t(row)]);
    for (auto entry = found.entries.begin(); entry != found.entries.end(); to++) {
      const i32 column = entry->first;
      double sum = 0;
      for (; entry != found.entries.end() && entry->first == column; ++entry) sum += entry->second;
      if (column == row && !(sum > negligible * found.diagonals)) sum = found.diagonals;
      coarse.indices[to] = column;
      coarse.values[to] = sum / over_correction;
    }
  });
}

}  // namespace sordino
