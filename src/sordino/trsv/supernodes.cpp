#include "sordino/trsv/supernodes.hpp"

#include <algorithm>
#include <utility>

namespace sordino::trsv {
namespace {

i64 triangle(i64 width, i64 height) { return width * (width + 1) / 2 + width * height; }

/// Chains of columns, each the only way to the next and with the same rows, in the order of a postorder; and their merging.
class Merger {
 public:
  Merger(const std::vector<i32>& parent, const std::vector<i32>& order, const std::vector<i32>& counts) {
    const std::size_t n = order.size();
    of_.resize(n);
    for (std::size_t k = 0; k < n; k++) {
      const std::size_t j = std::size_t(order[k]);
      const bool goes_on =
          k > 0 && parent[std::size_t(order[k - 1])] == i32(j) && counts[std::size_t(order[k - 1])] == counts[j] + 1;
      if (!goes_on) chains_.push_back({.begin = i32(k)});
      Chain& c = chains_.back();
      c.end = i32(k) + 1;
      c.width = c.end - c.begin;
      c.height = counts[j] - 1;
      of_[j] = i32(chains_.size()) - 1;
    }
    for (Chain& c : chains_) {
      c.entries = triangle(c.width, c.height);
      const i32 above = parent[std::size_t(order[std::size_t(c.end) - 1])];
      c.parent = above == no_parent ? no_parent : of_[std::size_t(above)];
    }
    list_children();
  }

  void merge(const Amalgamation& allowed) {
    for (i32 p = 0; p < i32(chains_.size()); p++)
      for (i32 c = std::exchange(at(p).first_child, no_parent); c != no_parent;) {
        const i32 child = std::exchange(c, at(c).next_sibling);
        if (!absorb(p, child, allowed)) adopt(p, child);
      }
  }

  /// Chains that are left, children before parents; `visit(chain, its columns by places in the order)`.
  template <class Visit>
  void each(const Visit& visit) {
    std::vector<i32> stack;
    std::vector<char> open(chains_.size(), 0);
    for (i32 root = 0; root < i32(chains_.size()); root++) {
      if (at(root).parent != no_parent) continue;
      stack.push_back(root);
      while (!stack.empty()) {
        const i32 p = stack.back();
        if (!std::exchange(open[std::size_t(p)], char(1)))
          for (i32 c = at(p).first_child; c != no_parent; c = at(c).next_sibling) stack.push_back(c);
        else
          stack.pop_back(), visit(p, columns_of(p));
      }
    }
  }
  i32 parent(i32 chain) const { return chains_[std::size_t(chain)].parent; }
  i32 height(i32 chain) const { return chains_[std::size_t(chain)].height; }

 private:
  struct Chain {
    i32 begin = 0, end = 0;  // places in the order
    i32 width = 0, height = 0, parent = no_parent;
    i64 entries = 0;  // that are not zeros of a merger
    i32 first_child = no_parent, next_sibling = no_parent;
    std::vector<i32> merged = {};  // whose columns come before its own
  };
  Chain& at(i32 c) { return chains_[std::size_t(c)]; }

  void list_children() {
    for (i32 c = i32(chains_.size()); c-- > 0;)
      if (at(c).parent != no_parent) adopt(at(c).parent, c);
  }
  void adopt(i32 p, i32 c) {
    at(c).parent = p;
    at(c).next_sibling = std::exchange(at(p).first_child, c);
  }

  bool absorb(i32 p, i32 c, const Amalgamation& allowed) {
    const i32 width = at(p).width + at(c).width;
    const i64 entries = at(p).entries + at(c).entries, all = triangle(width, at(p).height);
    const double most = width <= allowed.always   ? 1
                        : width <= allowed.narrow ? allowed.of_narrow
                        : width <= allowed.wide   ? allowed.of_wide
                                                  : allowed.of_wider;
    if (double(all - entries) > most * double(all)) return false;
    at(p).width = width;
    at(p).entries = entries;
    at(p).merged.push_back(c);
    for (i32 k = std::exchange(at(c).first_child, no_parent); k != no_parent;) {
      const i32 child = std::exchange(k, at(k).next_sibling);
      adopt(p, child);
    }
    return true;
  }

  /// Those of what was merged come first, each behind what was merged with it.
  std::vector<i32> columns_of(i32 p) {
    std::vector<i32> chains, stack{p}, columns;
    while (!stack.empty()) {
      const i32 c = stack.back();
      stack.pop_back();
      chains.push_back(c);
      stack.insert(stack.end(), at(c).merged.begin(), at(c).merged.end());
    }
    for (std::size_t k = chains.size(); k-- > 0;)
      for (i32 place = at(chains[k]).begin; place < at(chains[k]).end; place++) columns.push_back(place);
    return columns;
  }

  std::vector<Chain> chains_;
  std::vector<i32> of_;  // [n]
};

/// Rows below each supernode where elimination fills nothing: those of its last column.
void take_rows(const LowerPattern& A, const std::vector<i32>& place, Supernodes& s) {
  s.row_begin.assign(1, 0);
  for (i32 p = 0; p < s.count(); p++) {
    const i64 last = s.order[std::size_t(s.column[std::size_t(p) + 1]) - 1];
    for (i64 e = A.begin[last]; e < A.begin[last + 1]; e++)
      if (A.rows[e] > last) s.rows.push_back(place[std::size_t(A.rows[e])]);
    std::sort(s.rows.begin() + s.row_begin.back(), s.rows.end());
    s.row_begin.push_back(i64(s.rows.size()));
  }
}

/// Rows below each supernode: those of its columns' entries, and those of its children.
void find_rows(const LowerPattern& A, const std::vector<i32>& place, Supernodes& s) {
  std::vector<i32> seen(std::size_t(s.n), -1), child(std::size_t(s.count()), no_parent),
      sibling(std::size_t(s.count()), no_parent);
  for (i32 c = 0; c < s.count(); c++)
    if (s.parent[std::size_t(c)] != no_parent)
      sibling[std::size_t(c)] = std::exchange(child[std::size_t(s.parent[std::size_t(c)])], c);
  s.row_begin.assign(1, 0);
  for (i32 p = 0; p < s.count(); p++) {
    const i32 first = s.column[std::size_t(p)], end = s.column[std::size_t(p) + 1];
    auto take = [&](i32 row) {
      if (row >= end && std::exchange(seen[std::size_t(row)], p) != p) s.rows.push_back(row);
    };
    for (i32 k = first; k < end; k++) {
      const std::size_t j = std::size_t(s.order[std::size_t(k)]);
      for (i64 e = A.begin[j]; e < A.begin[j + 1]; e++)
        if (std::size_t(A.rows[e]) > j) take(place[std::size_t(A.rows[e])]);
    }
    for (i32 c = child[std::size_t(p)]; c != no_parent; c = sibling[std::size_t(c)])
      for (i64 e = s.row_begin[std::size_t(c)]; e < s.row_begin[std::size_t(c) + 1]; e++) take(s.rows[std::size_t(e)]);
    std::sort(s.rows.begin() + s.row_begin.back(), s.rows.end());
    s.row_begin.push_back(i64(s.rows.size()));
  }
}

}  // namespace

i64 Supernodes::entries() const {
  i64 sum = 0;
  for (i32 s = 0; s < count(); s++) sum += triangle(width(s), height(s));
  return sum;
}

Supernodes find_supernodes(const LowerPattern& A, const Amalgamation& merging) {
  return find_supernodes(A, eliminate(A), merging);
}

Supernodes find_supernodes(const LowerPattern& A, const Elimination& elimination, const Amalgamation& merging) {
  const std::vector<i32>& order = elimination.order;
  Merger merger(elimination.parent, order, elimination.counts);
  merger.merge(merging);
  Supernodes s;
  s.n = A.n;
  s.column.assign(1, 0);
  std::vector<i32> chains;
  merger.each([&](i32 chain, const std::vector<i32>& columns) {
    for (i32 k : columns) s.order.push_back(order[std::size_t(k)]);
    s.column.push_back(i32(s.order.size()));
    chains.push_back(chain);
  });
  std::vector<i32> number(std::size_t(A.n), no_parent);  // of a chain
  for (std::size_t k = 0; k < chains.size(); k++) number[std::size_t(chains[k])] = i32(k);
  for (i32 chain : chains) {
    const i32 above = merger.parent(chain);
    s.parent.push_back(above == no_parent ? no_parent : number[std::size_t(above)]);
  }
  std::vector<i32> place(std::size_t(s.n));
  for (std::size_t k = 0; k < place.size(); k++) place[std::size_t(s.order[k])] = i32(k);
  elimination.nothing ? take_rows(A, place, s) : find_rows(A, place, s);
  return s;
}

}  // namespace sordino::trsv
