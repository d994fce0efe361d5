// What must hold of supernodes that somebody else has found: all of it is looked at, nothing is sampled.
#include <algorithm>
#include <numeric>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/trsv/saved_plans.hpp"

namespace sordino::trsv {
namespace {

class Checker {
 public:
  Checker(const LowerPattern& pattern, const Supernodes& nodes) : pattern_(pattern), s_(nodes) {}

  void check() {
    check_sizes();
    check_order();
    check_rows();
    check_subtrees();
    check_entries();
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    bad_argument("the plans' supernodes " + what + ": make new plans, and save them");
  }

  void check_sizes() const {
    const std::size_t count = s_.parent.size();
    if (s_.n != pattern_.n || count < 1 || i64(count) > s_.n || i64(s_.order.size()) != s_.n || s_.column.size() != count + 1 ||
        s_.row_begin.size() != count + 1 || s_.column[0] != 0 || s_.column[count] != s_.n || s_.row_begin[0] != 0 ||
        s_.row_begin[count] != i64(s_.rows.size()))
      refuse("do not have the triangle's size");
    for (std::size_t s = 0; s < count; s++)
      if (s_.column[s + 1] <= s_.column[s] || s_.row_begin[s + 1] < s_.row_begin[s]) refuse("do not follow one another");
  }

  void check_order() {
    place_.assign(std::size_t(s_.n), -1);
    for (std::size_t k = 0; k < place_.size(); k++) {
      const i32 j = s_.order[k];
      if (j < 0 || j >= s_.n || place_[std::size_t(j)] >= 0) refuse("have no order of the columns");
      place_[std::size_t(j)] = i32(k);
    }
  }

  const i32* rows(i32 s) const { return s_.rows.data() + s_.row_begin[std::size_t(s)]; }
  const i32* rows_end(i32 s) const { return s_.rows.data() + s_.row_begin[std::size_t(s) + 1]; }
  i32 end_of(i32 s) const { return s_.column[std::size_t(s) + 1]; }

  void check_rows() const {
    for (i32 s = 0; s < s_.count(); s++) {
      i32 before = end_of(s) - 1;
      for (const i32* row = rows(s); row < rows_end(s); before = *row++)
        if (*row <= before || *row >= s_.n) refuse("have rows in a wrong order");
    }
    for (i32 s = 0; s < s_.count(); s++) {
      const i32 above = s_.parent[std::size_t(s)];
      if (above == no_parent && rows(s) == rows_end(s)) continue;
      if (above <= s || above >= s_.count() || rows(s) == rows_end(s) || *rows(s) < s_.column[std::size_t(above)] ||
          *rows(s) >= end_of(above))
        refuse("have a wrong parent");
      const i32* const beyond = std::lower_bound(rows(s), rows_end(s), end_of(above));
      if (!std::includes(rows(above), rows_end(above), beyond, rows_end(s)))
        refuse("have rows that their parent does not have");
    }
  }

  void check_subtrees() const {
    std::vector<i32> first(s_.parent.size()), size(s_.parent.size(), 1);
    std::iota(first.begin(), first.end(), 0);
    for (std::size_t s = 0; s < first.size(); s++) {  // children come before their parent
      if (i32(s) - first[s] + 1 != size[s]) refuse("have subtrees that are not consecutive");
      if (s_.parent[s] == no_parent) continue;
      const std::size_t above = std::size_t(s_.parent[s]);
      first[above] = std::min(first[above], first[s]);
      size[above] += size[s];
    }
  }

  void check_entries() const {
    std::vector<i32> in(std::size_t(s_.n), -1);  // the supernode that has a row
    for (i32 s = 0; s < s_.count(); s++) {
      for (const i32* row = rows(s); row < rows_end(s); row++) in[std::size_t(*row)] = s;
      for (i32 k = s_.column[std::size_t(s)]; k < end_of(s); k++) {
        const i32 j = s_.order[std::size_t(k)];
        for (i64 e = pattern_.begin[j]; e < pattern_.begin[j + 1]; e++) {
          const i32 row = place_[std::size_t(pattern_.rows[e])];
          if (row < k || (row >= end_of(s) && in[std::size_t(row)] != s))
            refuse("have no place for some entry of the triangle");
        }
      }
    }
  }

  const LowerPattern& pattern_;
  const Supernodes& s_;
  std::vector<i32> place_;  // [n] of each column of the pattern
};

}  // namespace

void check_supernodes(const LowerPattern& pattern, const Supernodes& nodes) { Checker(pattern, nodes).check(); }

Supernodes nodes_of(const Blocks& all) {
  Supernodes s;
  s.n = all.n;
  s.order = all.order;
  s.column.push_back(0);
  s.row_begin.push_back(0);
  std::vector<i32> node_of, last;  // [blocks], [supernodes] block
  for (i32 k = 0; k < all.count(); k++) {
    const Block& b = all.blocks[std::size_t(k)];
    node_of.push_back(i32(last.size()));
    const i64 end = b.rows + b.front;  // blocks of one supernode have their rows to the same end
    if (k + 1 < all.count() && all.blocks[std::size_t(k) + 1].rows < end) continue;
    last.push_back(k);
    s.column.push_back(b.column + b.width);
    s.rows.insert(s.rows.end(), all.rows.begin() + b.rows + b.width, all.rows.begin() + end);
    s.row_begin.push_back(i64(s.rows.size()));
  }
  for (i32 k : last) {
    const i32 above = all.parent[std::size_t(k)];
    s.parent.push_back(above == no_parent ? no_parent : node_of[std::size_t(above)]);
  }
  return s;
}

}  // namespace sordino::trsv
