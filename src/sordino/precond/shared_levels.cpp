#include "sordino/precond/shared_levels.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/shared_cores.hpp"
#include "sordino/precond/aggregation.hpp"
#include "sordino/precond/dense_inverse.hpp"

namespace sordino {
namespace {

constexpr int channel = 12;
constexpr i64 few_rows = 64;         // of a level that is not coarsened
constexpr double most_within = 0.5;  // of a level's rows: what ranks' own pairs may leave before all have it whole
constexpr double most_left = 0.8;    // the same of one that is too large for that

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A level whose next one would have so many rows.
void require_fewer(i64 left, i64 rows, i64 most_gathered) {
  if (double(left) > most_left * double(rows))
    bad_argument("precond amg pairs rows of a rank that are strongly coupled, which would leave " + std::to_string(left) +
                 " of " + std::to_string(rows) + ", and more than " + std::to_string(most_gathered) +
                 " rows are not gathered: number rows so that neighbours are of one process, or use precond jacobi");
}

/// Of ranks whose rows begin there, [ranks + 1], in the numbers of one process; in the whole's, of all processes.
Partition partition_of_all(Rank& rank, const std::vector<i64>& cuts, i64 shift, i64 n) {
  std::vector<i64> firsts(cuts.begin(), cuts.end() - 1);
  for (i64& first : firsts) first += shift;
  firsts = joined(Communicator(rank, channel).all_gather(firsts));
  firsts.push_back(n);
  return partition_of_parts(firsts);
}

}  // namespace

SharedLevels::SharedLevels(const CsrView& A, const Partition& first, int first_rank, int ranks, i64 alone, Together together,
                           i64 most_gathered)
    : given_(A), alone_(alone), most_gathered_(most_gathered), together_(std::move(together)) {
  together_.across([&](Rank& rank) {
    SharedCores all;
    make(rank, first, first_rank, ranks);
  });
  together_.all([&] {
    if (refused_) throw *refused_;
    rest_ = std::make_unique<AlgebraicLevels>(whole_.view(), owners_, closed_, -1);
  });
}

void SharedLevels::update(const CsrView& A) {
  given_ = A;
  together_.across([&](Rank& rank) {
    SharedCores all;
    look(rank);
    for (int l = 0; l < shared(); l++) {
      levels_[std::size_t(l)].bound = bound_of(rank, l);
      Level& next = levels_[std::size_t(l) + 1];
      CsrMatrix coarse{next.rows.numbers.size(), std::move(next.rows.indptr), std::move(next.rows.indices),
                       std::move(next.values)};
      sum_over_aggregates(local(l), level(l).P.view(), level(l).R.view(), coarse);
      next.rows.indptr = std::move(coarse.indptr), next.rows.indices = std::move(coarse.indices);
      next.values = std::move(coarse.values);
    }
    gather_values(rank);
  });
  together_.all([&] { rest_->update(whole_.view(), closed_); });
}

/// Whether the first matrix, of all processes, is closed.
void SharedLevels::look(Rank& rank) {
  closed_ = Communicator(rank, channel).all_reduce(std::vector<i32>{is_closed(given_)}, Fold::min)[0] != 0;
}

void SharedLevels::make(Rank& rank, const Partition& first, int first_rank, int ranks) {
  look(rank);
  std::vector<i64> firsts, cuts;
  for (const auto& row : Communicator(rank, channel).all_gather(std::vector<i64>{given_.first_row})) firsts.push_back(row[0]);
  firsts.push_back(given_.n);
  levels_.push_back({.rows = LocalRows(rank, partition_of_parts(firsts), given_), .partition = first});
  for (int r = 0; r <= ranks; r++) cuts.push_back(first.first_row(first_rank + r) - level(0).rows.numbers.shift());
  while (!ends_with(levels_.back().partition.n) && add_level(rank, cuts)) {
  }
  if (refused_) return;
  moves_ = shared() > 0 && levels_.back().partition.n <= alone_;
  owners_ = levels_.back().partition;
  if (moves_) {
    std::vector<i64> of_first(std::size_t(owners_.ranks()) + 1, owners_.n);
    of_first[0] = 0;
    owners_ = partition_of_parts(of_first);
  }
  gather(rank);
}

/// The first level is the caller's, and stays where it is.
bool SharedLevels::ends_with(i64 rows) const { return rows <= few_rows || (shared() > 0 && rows <= alone_); }

/// False where the level before is to be gathered, or is refused. `cuts`: the rows of this process's ranks, in its numbers.
bool SharedLevels::add_level(Rank& rank, std::vector<i64>& cuts) {
  Level& above = levels_.back();
  const int l = shared();
  SharedAggregates told(rank, above.rows.numbers);
  Aggregates found = fours(local(l), cuts, [&](Aggregates a) { return told(std::move(a)); });
  const i64 rows = above.partition.n;
  if (double(told.all()) > most_within * double(rows) && rows <= most_gathered_) return false;
  try {  // by all processes alike, which come to an end together before they say so
    if (told.all() == 0) require_few(rows, above.partition.ranks());
    require_fewer(told.all(), rows, most_gathered_);
  } catch (const Error& error) {
    refused_ = error;
  }
  if (refused_ || told.all() == 0) return false;
  above.P = interpolation(found);
  above.R = transposed(above.P.view());
  above.bound = bound_of(rank, l);
  CsrMatrix A = coarse_matrix(local(l), above.P.view(), above.R.view());
  cuts = std::move(found.cuts);
  Level next;
  next.rows.numbers = LocalNumbers(rank, told.processes(), told.ghosts());
  next.rows.indptr = std::move(A.indptr), next.rows.indices = std::move(A.indices);
  next.values = std::move(A.values);
  for (i32 column : next.rows.indices) next.columns.push_back(i32(next.rows.numbers.whole(column)));
  next.partition = partition_of_all(rank, cuts, next.rows.numbers.shift(), told.all());
  levels_.push_back(std::move(next));
  return true;
}

double SharedLevels::bound_of(Rank& rank, int l) const {
  const LocalNumbers& numbers = level(l).rows.numbers;
  Communicator comm(rank, channel);
  auto folded = [&](double value, Fold fold) { return comm.all_reduce(std::vector<double>{value}, fold)[0]; };
  auto complete = [&](std::vector<double>& v) {
    v = numbers.with_others(rank, std::vector<double>(v.begin() + numbers.before, v.begin() + numbers.before + numbers.own));
  };
  return estimated_bound(level(l).rows.own_rows(values(l)), {.first = numbers.first,
                                                             .complete = complete,
                                                             .sum = [&](double value) { return folded(value, Fold::sum); },
                                                             .most = [&](double value) { return folded(value, Fold::max); }});
}

/// The last level, whole, in every process.
void SharedLevels::gather(Rank& rank) {
  const Level& last = levels_.back();
  const CsrView own = last.rows.own_rows(values(shared()));
  std::vector<i64> counts;
  for (i64 row = 0; row < own.rows(); row++) counts.push_back(own.indptr[row + 1] - own.indptr[row]);
  std::vector<i32> columns = last.columns;
  if (shared() == 0) columns.assign(given_.indices, given_.indices + given_.nnz());
  Communicator comm(rank, channel);
  whole_.n = last.partition.n;
  whole_.indptr = {0};
  for (i64 count : joined(comm.all_gather(counts))) whole_.indptr.push_back(whole_.indptr.back() + count);
  whole_.indices = joined(comm.all_gather(columns));
  gather_values(rank);
}

void SharedLevels::gather_values(Rank& rank) {
  const double* of = values(shared());
  const i64 entries = i64(levels_.back().rows.indices.size());
  const std::vector<double> all = joined(Communicator(rank, channel).all_gather(std::vector<double>(of, of + entries)));
  whole_.values.resize(all.size());
  std::copy(all.begin(), all.end(), whole_.values.begin());
}

CsrView SharedLevels::matrix(int l) const {
  if (l == 0) return given_;
  if (l >= shared()) return rest_->matrix(l - shared());
  const Level& of = level(l);
  const LocalNumbers& numbers = of.rows.numbers;
  return {.n = of.partition.n,
          .indptr = of.rows.indptr.data() + numbers.before,
          .indices = of.columns.data(),
          .values = of.values.data(),
          .first_row = numbers.first,
          .held = numbers.own};
}

LevelMaps SharedLevels::maps(int l) const {
  const LocalNumbers &fine = level(l).rows.numbers, &coarse = level(l + 1).rows.numbers;
  const MapMatrix &P = level(l).P, &R = level(l).R;
  const Partition &rows = level(l).partition, &aggregates = level(l + 1).partition;
  return {
      {rows.n, aggregates.n, P.indptr.data() + fine.before, P.indices.data(), P.values.data(), fine.first, coarse.shift()},
      {aggregates.n, rows.n, R.indptr.data() + coarse.before, R.indices.data(), R.values.data(), coarse.first, fine.shift()},
      rows,
      aggregates};
}

std::unique_ptr<LevelTransfer> SharedLevels::transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const {
  if (l >= shared()) return rest_->transfer(rank, l - shared(), fine, coarse);
  if (moves_ && l + 1 == shared()) return moving_transfer(rank, maps(l), fine.id, owners_, coarse.id);
  return map_transfer(rank, maps(l), fine.id, coarse.id);
}

i64 SharedLevels::transfer_bytes(int l, int rank, bool device) const {
  if (l >= shared()) return rest_->transfer_bytes(l - shared(), rank, device);
  if (moves_ && l + 1 == shared()) return moving_transfer_bytes(maps(l), owners_, rank, device);
  return map_transfer_bytes(maps(l), rank, device);
}

}  // namespace sordino
