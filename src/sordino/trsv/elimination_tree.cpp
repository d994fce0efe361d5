#include "sordino/trsv/elimination_tree.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "sordino/base/parallel.hpp"

namespace sordino::trsv {
namespace {

/// The columns that each row has entries in, left of the diagonal, in increasing order.
struct Rows {
  std::vector<i64> begin;
  std::vector<i32> columns;
};

Rows rows_of(const LowerPattern& A) {
  Rows r{std::vector<i64>(std::size_t(A.n) + 1, 0), {}};
  for (i64 j = 0; j < A.n; j++)
    for (i64 k = A.begin[j]; k < A.begin[j + 1]; k++)
      if (A.rows[k] > j) r.begin[std::size_t(A.rows[k]) + 1]++;
  std::partial_sum(r.begin.begin(), r.begin.end(), r.begin.begin());
  r.columns.resize(std::size_t(r.begin.back()));
  std::vector<i64> next(r.begin.begin(), r.begin.end() - 1);
  for (i64 j = 0; j < A.n; j++)
    for (i64 k = A.begin[j]; k < A.begin[j + 1]; k++)
      if (A.rows[k] > j) r.columns[std::size_t(next[std::size_t(A.rows[k])]++)] = i32(j);
  return r;
}

/// The root of j's path, every node of which is then bound to it.
i32 root_of(std::vector<i32>& bound, i32 j) {
  i32 root = j;
  while (bound[std::size_t(root)] != root) root = bound[std::size_t(root)];
  while (j != root) j = std::exchange(bound[std::size_t(j)], root);
  return root;
}

/// The first row below the diagonal of each column, and how many entries the column has, with the diagonal.
Elimination as_it_stands(const LowerPattern& A) {
  Elimination e;
  e.parent.assign(std::size_t(A.n), no_parent), e.counts.assign(std::size_t(A.n), 1);
  for (i64 j = 0; j < A.n; j++) {
    if (A.sorted) {
      const i64 below = A.below(j);
      e.counts[std::size_t(j)] += i32(A.begin[j + 1] - below);
      if (below < A.begin[j + 1]) e.parent[std::size_t(j)] = A.rows[below];
      continue;
    }
    i32 first = i32(A.n), count = 1;
    for (i64 k = A.begin[j]; k < A.begin[j + 1]; k++)
      if (A.rows[k] > j) first = std::min(first, A.rows[k]), count++;
    if (count > 1) e.parent[std::size_t(j)] = first;
    e.counts[std::size_t(j)] = count;
  }
  return e;
}

/// Whether each column's rows below its parent are among the parent's, and no entry stands
/// twice: then elimination fills nothing.
bool is_filled(const LowerPattern& A, const std::vector<i32>& parent) {
  const std::size_t n = std::size_t(A.n);
  std::vector<i32> child(n, no_parent), sibling(n, no_parent), seen(n, -1);
  for (std::size_t j = n; j-- > 0;)
    if (parent[j] != no_parent) sibling[j] = std::exchange(child[std::size_t(parent[j])], i32(j));
  for (i32 p = 0; p < A.n; p++) {
    for (i64 k = A.begin[p]; k < A.begin[p + 1]; k++)
      if (A.rows[k] > p && std::exchange(seen[std::size_t(A.rows[k])], p) == p) return false;
    for (i32 c = child[std::size_t(p)]; c != no_parent; c = sibling[std::size_t(c)])
      for (i64 k = A.begin[c]; k < A.begin[c + 1]; k++)
        if (A.rows[k] > p && seen[std::size_t(A.rows[k])] != p) return false;
  }
  return true;
}

/// Of a sorted pattern: whether the rows of column j behind the first one are among those of that column. Most of a whole
/// factor's are the same.
bool is_among_parents(const LowerPattern& A, i64 j, i64 parent) {
  const i32 *row = A.rows + A.below(j) + 1, *const end = A.rows + A.begin[j + 1];
  const i32 *above = A.rows + A.below(parent), *const above_end = A.rows + A.begin[parent + 1];
  if (end - row > above_end - above) return false;
  if (end - row == above_end - above) return std::equal(row, end, above);
  for (; row < end; row++) {
    above = std::lower_bound(above, above_end, *row);
    if (above == above_end || *above != *row) return false;
  }
  return true;
}

bool is_sorted_filled(const LowerPattern& A, const std::vector<i32>& parent, int threads) {
  constexpr i64 some = 512;  // columns
  std::atomic<bool> filled{true};
  deal_out(A.n, some, threads, [&](i64 begin, i64 end, int) {
    for (i64 j = begin; j < end && filled.load(std::memory_order_relaxed); j++)
      if (const i32 above = parent[std::size_t(j)]; above != no_parent && !is_among_parents(A, j, above)) filled = false;
  });
  return filled;
}

bool fills_nothing(const LowerPattern& A, const std::vector<i32>& parent, int threads) {
  return A.sorted ? is_sorted_filled(A, parent, threads) : is_filled(A, parent);
}

/// How many entries the filled pattern of a sorted one has, at least; counting ends soon behind `enough`. With the first row
/// below the diagonal of each column: of an entry (r, j) the filled pattern has all of (r, first(j)), (r, first(first(j))),
/// ..., up to the diagonal, for eliminating a column joins its rows. Counted are those of one entry of each row, the last one
/// of its column, of a few steps each.
i64 filled_at_least(const LowerPattern& A, const std::vector<i32>& first, i64 enough, int threads) {
  const i64 most_steps = std::min(2 * (enough / A.n + 1), A.n);
  std::vector<i32> of_row(first.size(), no_parent);  // the column whose last entry is in the row
  for (std::size_t j = first.size(); j-- > 0;)
    if (first[j] != no_parent) of_row[std::size_t(A.rows[A.begin[j + 1] - 1])] = i32(j);
  constexpr i64 some = 4096;  // rows
  std::atomic<i64> sum{A.n};
  deal_out(A.n, some, threads, [&](i64 begin, i64 end, int) {
    if (sum.load(std::memory_order_relaxed) > enough) return;
    i64 found = 0;
    for (i64 r = begin; r < end; r++) {
      i32 j = of_row[std::size_t(r)];
      for (i64 k = 0; k < most_steps && j != no_parent && j < r; k++, found++) j = first[std::size_t(j)];
    }
    sum += found;
  });
  return sum;
}

Elimination completed(const LowerPattern& A, Elimination e) {
  if (!e.nothing) e.parent = elimination_tree(A);
  e.order = postorder(e.parent);
  if (!e.nothing) e.counts = column_counts(A, e.parent, e.order);
  return e;
}

}  // namespace

Elimination eliminate(const LowerPattern& A, int threads) {
  Elimination e = as_it_stands(A);
  e.nothing = fills_nothing(A, e.parent, threads);
  return completed(A, std::move(e));
}

std::optional<Elimination> eliminate_up_to(const LowerPattern& A, i64 most, int threads) {
  Elimination e = as_it_stands(A);
  e.nothing = fills_nothing(A, e.parent, threads);
  if (!e.nothing && A.sorted && filled_at_least(A, e.parent, most, threads) > most) return std::nullopt;
  return completed(A, std::move(e));
}

i64 Elimination::filled() const { return std::accumulate(counts.begin(), counts.end(), i64(0)); }

std::vector<i32> elimination_tree(const LowerPattern& A) {
  const Rows rows = rows_of(A);
  std::vector<i32> parent(std::size_t(A.n), no_parent), bound(std::size_t(A.n));
  std::iota(bound.begin(), bound.end(), 0);
  for (i32 i = 0; i < A.n; i++)
    for (i64 k = rows.begin[std::size_t(i)]; k < rows.begin[std::size_t(i) + 1]; k++) {
      const i32 root = root_of(bound, rows.columns[std::size_t(k)]);
      if (root != i) parent[std::size_t(root)] = bound[std::size_t(root)] = i;
    }
  return parent;
}

std::vector<i32> postorder(const std::vector<i32>& parent) {
  const std::size_t n = parent.size();
  std::vector<i32> first(n, no_parent), next(n, no_parent), order, stack;
  for (std::size_t j = n; j-- > 0;)
    if (parent[j] != no_parent) next[j] = std::exchange(first[std::size_t(parent[j])], i32(j));
  order.reserve(n);
  for (std::size_t root = 0; root < n; root++) {
    if (parent[root] != no_parent) continue;
    stack.push_back(i32(root));
    while (!stack.empty()) {
      const std::size_t j = std::size_t(stack.back());
      if (first[j] == no_parent) {
        order.push_back(i32(j));
        stack.pop_back();
      } else {
        stack.push_back(first[j]);
        first[j] = next[std::size_t(first[j])];
      }
    }
  }
  return order;
}

// Row i of the filled pattern is a subtree with root i, whose leaves are entries of the pattern itself. A column gets one for
// each row subtree of which it is a leaf, loses one where two leaves' paths meet, and one as its parent's child.
std::vector<i32> column_counts(const LowerPattern& A, const std::vector<i32>& parent, const std::vector<i32>& order) {
  const std::size_t n = std::size_t(A.n);
  std::vector<i32> counts(n, 0), descendant(n, -1), latest(n, -1), leaf(n, -1), bound(n);
  std::iota(bound.begin(), bound.end(), 0);
  for (std::size_t k = 0; k < n; k++) {  // the first descendant of each column, as its place in the order
    i32 j = order[k];
    if (descendant[std::size_t(j)] == -1) counts[std::size_t(j)] = 1;  // a leaf of the tree
    for (; j != no_parent && descendant[std::size_t(j)] == -1; j = parent[std::size_t(j)]) descendant[std::size_t(j)] = i32(k);
  }
  for (std::size_t k = 0; k < n; k++) {
    const std::size_t j = std::size_t(order[k]);
    if (parent[j] != no_parent) counts[std::size_t(parent[j])]--;
    for (i64 e = A.begin[j]; e < A.begin[j + 1]; e++) {
      const std::size_t i = std::size_t(A.rows[e]);
      if (i <= j || descendant[j] <= latest[i]) continue;  // no leaf of row i's subtree
      latest[i] = descendant[j];
      counts[j]++;
      if (leaf[i] >= 0) counts[std::size_t(root_of(bound, leaf[i]))]--;
      leaf[i] = i32(j);
    }
    if (parent[j] != no_parent) bound[j] = parent[j];
  }
  for (std::size_t k = 0; k < n; k++) {
    const std::size_t j = std::size_t(order[k]);
    if (parent[j] != no_parent) counts[std::size_t(parent[j])] += counts[j];
  }
  return counts;
}

}  // namespace sordino::trsv
