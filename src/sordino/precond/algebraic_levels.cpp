#include "sordino/precond/algebraic_levels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/precond/aggregation.hpp"
#include "sordino/precond/dense_inverse.hpp"
#include "sordino/precond/spectral_estimate.hpp"

namespace sordino {
namespace {

constexpr i64 few_rows = 64;         // of a level that is inverted, whatever comes below it
constexpr double rounding = 1e-5;    // of entries of P^T A P, to the roots of their diagonals: P may have entries of 1e11
constexpr i64 least_rows = 1 << 12;  // that are worth a thread
constexpr const char *of_caller = "a hierarchy of multigrid", *of_ours = "precond amg";

std::string named(std::size_t level) { return "level " + std::to_string(level) + " of the hierarchy"; }

/// 0 where there is none.
double entry(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* at = std::lower_bound(begin, end, i32(column));
  return at != end && *at == column ? A.values[at - A.indices] : 0;
}

/// Of the rows that are held.
std::vector<double> positive_diagonal(const CsrView& A, const std::string& what) {
  std::vector<double> d;
  for (i64 i = A.first_row; i < A.end_row(); i++) {
    d.push_back(entry(A, i, i));
    if (!(d.back() > 0))
      bad_argument(what + " needs a symmetric positive definite matrix, and the diagonal of row " + std::to_string(i) +
                   " is not positive: use precond jacobi or none");
  }
  return d;
}

void require_symmetric(const CsrView& A, const std::vector<double>& diagonal, const std::string& what) {
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++)
          for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
            const i64 j = A.indices[k];
            const double scale = std::sqrt(diagonal[std::size_t(i)]) * std::sqrt(diagonal[std::size_t(j)]);
            if (!(std::abs(A.values[k] - entry(A, j, i)) <= rounding * scale))
              bad_argument(what + " is not symmetric: row " + std::to_string(i) + " and column " + std::to_string(j));
          }
      },
      least_rows);
}

void validate_level(const GivenLevel& given, i64 rows_above, std::size_t l) {
  const std::string what = named(l), P = "the P of " + named(l - 1);
  if (given.P.rows != rows_above || given.P.columns != given.A.n)
    bad_argument(P + " is " + std::to_string(given.P.rows) + " x " + std::to_string(given.P.columns) + ", and between " +
                 std::to_string(rows_above) + " and " + std::to_string(given.A.n) + " rows: the levels do not chain");
  if (given.A.n >= rows_above) bad_argument(what + " has " + std::to_string(given.A.n) + " rows, no fewer than the one above");
  validate(given.P, P);
  try {
    validate(given.A);
  } catch (const Error& error) {
    throw Error(error.code(), what + ": " + error.what());
  }
  require_symmetric(given.A, positive_diagonal(given.A, what), what);
}

/// For each coarse row, the rank of the fine row that it counts most in. `number`: of a fine row in its level's order.
std::vector<int> owners(const MapView& P, const Partition& fine, const std::vector<i64>& number) {
  std::vector<double> most(std::size_t(P.columns), -1);
  std::vector<i64> row(std::size_t(P.columns), 0);
  for (i64 i = 0; i < P.rows; i++)
    for (i64 k = P.indptr[i]; k < P.indptr[i + 1]; k++) {
      const std::size_t j = std::size_t(P.indices[k]);
      if (std::abs(P.values[k]) > most[j]) most[j] = std::abs(P.values[k]), row[j] = number[std::size_t(i)];
    }
  std::vector<int> ranks(row.size());
  for (std::size_t j = 0; j < row.size(); j++) ranks[j] = fine.owner(row[j]);
  return ranks;
}

/// Rows in the order of their ranks.
std::vector<i64> places_of(const std::vector<int>& owners) {
  std::vector<i64> places(owners.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](i64 a, i64 b) { return owners[std::size_t(a)] < owners[std::size_t(b)]; });
  return places;
}

std::vector<i64> inverse(const std::vector<i64>& places) {
  std::vector<i64> number(places.size());
  for (std::size_t i = 0; i < places.size(); i++) number[std::size_t(places[i])] = i64(i);
  return number;
}

std::vector<int> owning_ranks(const Partition& rows) {
  std::vector<int> ranks;
  for (int r = 0; r < rows.ranks(); r++)
    if (rows.rows(r) > 0) ranks.push_back(r);
  return ranks;
}

/// Ranks own the rows that are theirs, and one at least where they own any of the level above.
Partition partition_of(const std::vector<int>& owners, const Partition& above) {
  const i64 n = i64(owners.size());
  std::vector<std::vector<i64>> first(static_cast<std::size_t>(above.ranks()));
  const std::vector<int> ranks = owning_ranks(above);
  i64 row = 0, least = 0;
  for (std::size_t k = 0; k < ranks.size(); k++) {
    row = std::clamp(row, least, n - i64(ranks.size() - k));
    first[std::size_t(ranks[k])] = {row};
    least = row + 1;
    row = std::count_if(owners.begin(), owners.end(), [&](int owner) { return owner <= ranks[k]; });
  }
  return partition_at(n, first);
}

MapMatrix copied(const MapView& A) {
  return {
      A.rows, A.columns, {A.indptr, A.indptr + A.rows + 1}, {A.indices, A.indices + A.nnz()}, {A.values, A.values + A.nnz()}};
}

/// Rows in the order of `places`, columns by their new numbers. Aggregates stay as they are.
MapMatrix reordered(const MapView& A, const std::vector<i64>& places, const std::vector<i64>& number) {
  if (std::is_sorted(places.begin(), places.end()) && std::is_sorted(number.begin(), number.end())) return copied(A);
  MapMatrix to{.rows = A.rows, .columns = A.columns, .indptr = {0}};
  std::vector<std::pair<i32, double>> row;
  for (i64 i : places) {
    row.clear();
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) row.emplace_back(i32(number[std::size_t(A.indices[k])]), A.values[k]);
    std::sort(row.begin(), row.end());
    for (auto& [column, value] : row) to.indices.push_back(column), to.values.push_back(value);
    to.indptr.push_back(i64(to.indices.size()));
  }
  return to;
}

CsrMatrix reordered(const CsrView& A, const std::vector<i64>& places, const std::vector<i64>& number) {
  MapMatrix to = reordered(MapView{A.n, A.n, A.indptr, A.indices, A.values}, places, number);
  return {A.n, std::move(to.indptr), std::move(to.indices), std::move(to.values)};
}

std::vector<GivenLevel> views_of(const std::vector<AggregatedLevel>& levels) {
  std::vector<GivenLevel> views;
  for (const AggregatedLevel& level : levels) views.push_back({level.P.view(), level.A.view()});
  return views;
}

}  // namespace

void require_positive_diagonal(const CsrView& A, const std::string& what) { positive_diagonal(A, what); }

void validate(const CsrView& A, const std::vector<GivenLevel>& given) {
  require_positive_diagonal(A, of_caller);
  i64 rows = A.n;
  for (std::size_t l = 0; l < given.size(); l++) {
    validate_level(given[l], rows, l + 1);
    rows = given[l].A.n;
  }
}

AlgebraicLevels::AlgebraicLevels(const CsrView& A, const std::vector<GivenLevel>& given, const Partition& first)
    : AlgebraicLevels(A, given, first, is_closed(A)) {}

AlgebraicLevels::AlgebraicLevels(const CsrView& A, const std::vector<GivenLevel>& given, const Partition& first, bool closed)
    : given_(A) {
  std::vector<i64> places(static_cast<std::size_t>(A.n));
  std::iota(places.begin(), places.end(), 0);
  std::vector<i64> number = places;
  levels_.push_back({.partition = first});
  const i64 least = i64(owning_ranks(first).size());
  CsrView here = A;  // in the caller's order: what is estimated there does not depend on the number of ranks
  for (const GivenLevel& next : given) {
    if (levels_.back().partition.n <= few_rows || next.A.n < least) break;
    const std::vector<int> ranks = owners(next.P, levels_.back().partition, number);
    const std::vector<i64> coarse_places = places_of(ranks), coarse_number = inverse(coarse_places);
    levels_.back().P = reordered(next.P, places, coarse_number);
    levels_.back().R = transposed(levels_.back().P.view());
    levels_.back().bound = estimated_bound(here);
    here = next.A;
    const Partition& above = levels_.back().partition;
    levels_.push_back({.A = reordered(next.A, coarse_places, coarse_number), .partition = partition_of(ranks, above)});
    places = coarse_places;
    number = coarse_number;
  }
  if (const i64 n = levels_.back().partition.n; n > most_inverted)
    bad_argument("the last level of the hierarchy has " + std::to_string(n) + " rows, more than " +
                 std::to_string(most_inverted) + ", which are inverted: coarsen further, or use precond jacobi");
  last_inverse_ = inverse_of(matrix(count() - 1), closed);
}

AlgebraicLevels::AlgebraicLevels(const CsrView& A, const Partition& first, int gpu)
    : AlgebraicLevels(A, first, is_closed(A), gpu) {}

AlgebraicLevels::AlgebraicLevels(const CsrView& A, const Partition& first, bool closed, int gpu)
    : AlgebraicLevels(A, views_of(aggregated_levels(A, first, levels_by(gpu))), first, closed) {
  aggregated_ = true;
}

void AlgebraicLevels::update(const CsrView& A) { update(A, is_closed(A)); }

void AlgebraicLevels::update(const CsrView& A, bool closed) {
  require_positive_diagonal(A, aggregated_ ? of_ours : of_caller);
  given_ = A;
  if (count() > 1) levels_[0].bound = estimated_bound(A);
  for (std::size_t l = 1; aggregated_ && l < levels_.size(); l++) {
    const Level& above = levels_[l - 1];
    sum_over_aggregates(matrix(int(l) - 1), above.P.view(), above.R.view(), levels_[l].A);
    if (l + 1 < levels_.size()) levels_[l].bound = estimated_bound(matrix(int(l)));
  }
  if (count() > 1 && !aggregated_) return;
  const CsrMatrix inverse = inverse_of(matrix(count() - 1), closed);
  std::copy(inverse.values.begin(), inverse.values.end(), last_inverse_.values.begin());
}

LevelMaps AlgebraicLevels::maps(int l) const { return {level(l).P.view(), level(l).R.view(), partition(l), partition(l + 1)}; }

std::unique_ptr<LevelTransfer> AlgebraicLevels::transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const {
  return map_transfer(rank, maps(l), fine.id, coarse.id);
}

i64 AlgebraicLevels::transfer_bytes(int l, int rank, bool device) const { return map_transfer_bytes(maps(l), rank, device); }

}  // namespace sordino
