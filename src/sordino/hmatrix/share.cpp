#include "sordino/hmatrix/share.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/sort_by.hpp"

namespace sordino::hmatrix {
namespace {

bool meet(RowRange a, RowRange b) { return std::max(a.begin, b.begin) < std::min(a.end, b.end); }

/// Twice the middle of a range.
std::size_t middle(RowRange r) { return std::size_t(r.begin) + std::size_t(r.end); }

template <class V>
using Leaves = std::vector<const LeafOf<V>*>;

/// The n-th of `parts` of about equally many values, in the order of the middles of side(leaf); leaves with the same middle
/// keep their order.
template <class V, class Side>
Leaves<V> part_of(const Leaves<V>& leaves, i64 n, int nth, int parts, const Side& side) {
  std::vector<i64> before(std::size_t(2 * n));
  i64 all = 0;
  for (const LeafOf<V>* l : leaves) before[middle(side(*l))] += l->entries(), all += l->entries();
  std::exclusive_scan(before.begin(), before.end(), before.begin(), i64(0));
  Leaves<V> part;
  for (const LeafOf<V>* l : leaves) {
    i64& at = before[middle(side(*l))];
    const double half_way = double(at) + 0.5 * double(l->entries());
    if (std::min(parts - 1, int(half_way * parts / double(all))) == nth) part.push_back(l);
    at += l->entries();
  }
  return part;
}

}  // namespace

Distribution distribution(const std::string& name) {
  if (name == "rows") return Distribution::rows;
  if (name == "leaves") return Distribution::leaves;
  if (name == "grid") return Distribution::grid;
  bad_argument("distribution is rows, leaves or grid, not '" + name + "'");
}

const char* name_of(Distribution how) {
  return how == Distribution::rows ? "rows" : how == Distribution::leaves ? "leaves" : "grid";
}

int ranks_of_a_row(Distribution how, int ranks) {
  int columns = 1;
  for (int k = 2; how == Distribution::grid && k * k <= ranks; k++)
    if (ranks % k == 0) columns = k;
  return columns;
}

template <class V>
Share<V> share_of(const HMatrixOf<V>& matrix, const Partition& partition, Distribution how, int rank, bool every_column) {
  const i64 n = matrix.size();
  const RowRange own{i32(partition.first_row(rank)), i32(partition.first_row(rank + 1))};
  Share<V> share;
  for (const LeafOf<V>& l : matrix.leaves())
    if (l.rank != 0 && (how != Distribution::rows || meet(l.block.rows, own))) share.leaves.push_back(&l);
  if (how != Distribution::rows) {
    const int together = ranks_of_a_row(how, partition.ranks());
    auto rows = [](const LeafOf<V>& l) { return l.block.rows; };
    auto columns = [](const LeafOf<V>& l) { return l.block.columns; };
    share.leaves = part_of<V>(share.leaves, n, rank / together, partition.ranks() / together, rows);
    if (together > 1) share.leaves = part_of<V>(share.leaves, n, rank % together, together, columns);
  }
  sort_by(share.leaves, n, [](const LeafOf<V>* l) { return l->block.columns.begin; });
  std::vector<RowRange> rows{own}, columns{every_column ? RowRange{0, i32(n)} : own};
  if (how != Distribution::rows && own.size() < n)  // all ranks send
    rows.push_back(own.end < n ? RowRange{own.end, own.end + 1} : RowRange{own.begin - 1, own.begin});
  for (const LeafOf<V>* l : share.leaves) {
    if (how != Distribution::rows) rows.push_back(l->block.rows);
    if (!every_column) columns.push_back(l->block.columns);
  }
  share.rows = RowSet::of(i32(n), rows);
  share.columns = RowSet::of(i32(n), columns);
  return share;
}

template <class V>
std::vector<OwnedRows<V>> owned_rows(const HMatrixOf<V>& matrix, const Partition& partition, Distribution how) {
  std::vector<OwnedRows<V>> owned;
  for (int rank = 0; rank < partition.ranks(); rank++) {
    const i32 first = i32(partition.first_row(rank)), end = i32(partition.first_row(rank + 1));
    for (const LeafOf<V>* l : share_of(matrix, partition, how, rank, true).leaves) {
      const RowRange all = l->block.rows, own{std::max(all.begin, first), std::min(all.end, end)};
      owned.push_back({l, how == Distribution::rows ? own : all, rank});
    }
  }
  return owned;
}

template <class V>
Share<V> whole(const HMatrixOf<V>& matrix) {
  return share_of(matrix, partition_at(matrix.size(), {{0}}), Distribution::rows, 0);
}

template <class V>
void require_held(const Share<V>& share) {
  for (const LeafOf<V>* l : share.leaves)
    if (!l->is_held())
      bad_argument("this process holds the part of the H-matrix that other ranks multiply: build it for these");
}

template <class V>
void require_countable(const Share<V>& share, i64 terms) {
  if (words_of<V> * (share.columns.size() + terms) > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported, "a rank has more than 2^31 terms, or 2^30 complex ones: use more ranks");
}

template <class V>
std::vector<i64> costs_before(const HMatrixOf<V>& matrix) {
  std::vector<i64> cost(std::size_t(matrix.size()) + 1);
  auto add = [&](i32 begin, i32 end, i64 values) {  // as differences, at first
    cost[std::size_t(begin) + 1] += values;
    if (end < matrix.size()) cost[std::size_t(end) + 1] -= values;
  };
  for (const LeafOf<V>& l : matrix.leaves()) {
    const i64 rows = l.block.rows.size(), a_row = l.entries() / rows;
    add(l.block.rows.begin, l.block.rows.end, a_row);
    add(l.block.rows.begin, l.block.rows.begin + 1, l.entries() - rows * a_row);
  }
  std::partial_sum(cost.begin(), cost.end(), cost.begin());
  std::partial_sum(cost.begin(), cost.end(), cost.begin());
  return cost;
}

template Share<double> share_of(const HMatrixOf<double>&, const Partition&, Distribution, int, bool);
template Share<Number> share_of(const HMatrixOf<Number>&, const Partition&, Distribution, int, bool);
template std::vector<OwnedRows<double>> owned_rows(const HMatrixOf<double>&, const Partition&, Distribution);
template std::vector<OwnedRows<Number>> owned_rows(const HMatrixOf<Number>&, const Partition&, Distribution);
template Share<double> whole(const HMatrixOf<double>&);
template Share<Number> whole(const HMatrixOf<Number>&);
template void require_held(const Share<double>&);
template void require_held(const Share<Number>&);
template void require_countable(const Share<double>&, i64);
template void require_countable(const Share<Number>&, i64);
template std::vector<i64> costs_before(const HMatrixOf<double>&);
template std::vector<i64> costs_before(const HMatrixOf<Number>&);

}  // namespace sordino::hmatrix
