#include "sordino/hmatrix/others_rows.hpp"

#include <numeric>

#include "sordino/comm/communicator.hpp"
#include "sordino/comm/delivery.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/row_space.hpp"

namespace sordino::hmatrix {
namespace {

constexpr int channel = 8;

/// Rows of others, one rank's behind another's.
Partition one_by_one(Rank& rank, i32 count) {
  i64 n = 0;
  std::vector<std::vector<i64>> first;
  for (const auto& counts : Communicator(rank, channel).all_gather<i64>({count})) {
    first.push_back({n});
    n += counts[0];
  }
  return partition_at(n, first);
}

/// What this rank computes of another's rows: the number of the first of them, and the rows, as their owner counts them.
std::vector<Dispatch> letters(const RowSet& rows, const Partition& partition) {
  std::vector<Dispatch> all;
  i64 number = 0;
  for (RowRange range : rows.ranges())
    for (i64 row = range.begin; row < range.end; row++, number++) {
      const int owner = partition.owner(row);
      if (all.empty() || all.back().to != owner) all.push_back({.to = owner, .words = {number}});
      all.back().words.push_back(row - partition.first_row(owner));
    }
  return all;
}

}  // namespace

OthersRows::OthersRows(Rank& rank, const Partition& partition, const RowSet& rows, i32 first, int words) : memory_(rank) {
  const Partition of_others = one_by_one(rank, rows.size());
  const i32 own = partition.rows(rank.id());
  std::vector<i64> ghosts;
  std::vector<i32> begin(std::size_t(own) + 1);
  const std::vector<Dispatch> come = deliver(rank, channel, letters(rows, partition));
  for (const Dispatch& l : come)
    for (std::size_t k = 1; k < l.words.size(); k++) {
      ghosts.push_back(of_others.first_row(l.from) + l.words[0] + i64(k) - 1);
      begin[std::size_t(l.words[k]) + 1]++;
    }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<i32> next = begin, places(ghosts.size());
  i32 ghost = rows.size();
  for (const Dispatch& l : come)
    for (std::size_t k = 1; k < l.words.size(); k++) places[std::size_t(next[std::size_t(l.words[k])]++)] = ghost++;
  add_.begin = memory_.uploaded(begin);
  add_.places = memory_.uploaded(places);
  add_.first = first;
  add_.words = words;
  add_.rows = own;
  add_.count = i64(places.size());
  own_.rest = {{words * first, words * (first + own)}};
  const int space = add_row_space(rank, of_others, words);
  exchange_ = make_halo(rank, in_words(of_others, words), rank.space(space), in_words(ghosts, words));
  for (Vec& v : vectors_) v = rank.vector("rows of others", space, &exchange_);
  Space of_own;
  of_own.n_global = of_own.rows = words * own;
  set_tiles(of_own, {0, of_own.rows});
  mine_ = rank.vector("own rows", rank.add_space(std::move(of_own)));
}

void OthersRows::record_sum(Rank& rank, Vec others, Vec y) const {
  AddOthers add = add_;
  add.mine = mine_;
  add.others = others;
  add.y = y;
  rank.run_split(add, own_);
}

}  // namespace sordino::hmatrix
