// Elimination trees, counts and supernodes against elimination done column by column.
#include "sordino/trsv/supernodes.hpp"

#include "check.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

bool has_row(const Supernodes& s, i32 p, i32 row) {
  return std::binary_search(s.rows.data() + s.row_begin[std::size_t(p)], s.rows.data() + s.row_begin[std::size_t(p) + 1], row);
}

/// What must hold of supernodes, whatever was merged: every entry of the filled pattern has its place.
void check_supernodes(const Columns& c, const Supernodes& s) {
  const auto L = triangles::filled(c);
  std::vector<i32> place(std::size_t(c.n), -1), of(std::size_t(c.n), -1);
  for (std::size_t k = 0; k < s.order.size(); k++) place[std::size_t(s.order[k])] = i32(k);
  CHECK(i64(s.order.size()) == c.n);
  CHECK(std::count(place.begin(), place.end(), -1) == 0);
  CHECK(s.column.back() == c.n);
  for (i32 p = 0; p < s.count(); p++) {
    for (i32 k = s.column[std::size_t(p)]; k < s.column[std::size_t(p) + 1]; k++) of[std::size_t(k)] = p;
    const i32 above = s.parent[std::size_t(p)];
    CHECK((above == no_parent ? s.height(p) == 0 : above > p));
    if (above == no_parent) continue;
    const i32* begin = s.rows.data() + s.row_begin[std::size_t(p)];
    const i32* end = s.rows.data() + s.row_begin[std::size_t(p) + 1];
    CHECK(std::is_sorted(begin, end));
    for (const i32* row = begin; row != end; row++) {  // all are among the parent's columns and rows
      const bool is_column = *row >= s.column[std::size_t(above)] && *row < s.column[std::size_t(above) + 1];
      CHECK((is_column || has_row(s, above, *row)));
    }
  }
  for (std::size_t j = 0; j < L.size(); j++)
    for (std::size_t i = j; i < L.size(); i++) {
      if (!L[j][i]) continue;
      const i32 column = std::min(place[i], place[j]), row = std::max(place[i], place[j]), p = of[std::size_t(column)];
      CHECK((row < s.column[std::size_t(p) + 1] || has_row(s, p, row)));
      CHECK(place[i] >= place[j]);  // what is below the diagonal stays there
    }
}

}  // namespace

TEST("elimination trees and counts are those of elimination") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (const Columns& c : triangles::some(random, 30)) {
    const auto L = triangles::filled(c);
    const auto parent = elimination_tree(c.pattern());
    const auto counts = column_counts(c.pattern(), parent, postorder(parent));
    for (std::size_t j = 0; j < L.size(); j++) {
      std::size_t first = j + 1;
      while (first < L.size() && !L[j][first]) first++;
      CHECK(parent[j] == (first < L.size() ? i32(first) : no_parent));
      CHECK(counts[j] == std::count(L[j].begin(), L[j].end(), 1));
    }
  }
}

TEST(
    "what elimination makes of a pattern is found alike whether it fills or not, in any order of rows, and of doubled "
    "entries") {
  NOTE(fresh::said());
  fresh::Random random(4);
  auto check = [](const Columns& c) {
    const Elimination e = eliminate(c.pattern());
    CHECK(e.parent == elimination_tree(c.pattern()));
    CHECK(e.order == postorder(e.parent));
    CHECK(e.counts == column_counts(c.pattern(), e.parent, e.order));
  };
  for (const Columns& c : triangles::some(random, 30)) {
    check(c);
    Columns filled = triangles::with_fill(c), changed = filled;
    check(filled);
    for (i64 j = 0; j < c.n; j++)  // the diagonal not first
      std::reverse(changed.rows.begin() + changed.begin[std::size_t(j)],
                   changed.rows.begin() + changed.begin[std::size_t(j) + 1]);
    check(changed);
    const i64 j = random.whole(0, c.n - 1);  // an entry is lost, which may or may not be filled
    if (changed.begin[std::size_t(j) + 1] - changed.begin[std::size_t(j)] < 3) continue;
    changed = filled;
    changed.rows[std::size_t(changed.begin[std::size_t(j)] + 2)] = changed.rows[std::size_t(changed.begin[std::size_t(j)] + 1)];
    check(changed);
  }
}

TEST("supernodes hold every entry of the filled pattern, merged or not, and rows stay in their ancestors") {
  NOTE(fresh::said());
  fresh::Random random(2);
  for (const Columns& c : triangles::some(random, 30)) {
    check_supernodes(c, find_supernodes(c.pattern()));
    check_supernodes(c, find_supernodes(c.pattern(), {.always = 0, .of_narrow = 0, .of_wide = 0, .of_wider = 0}));
    check_supernodes(c, find_supernodes(c.pattern(), {.always = 1000}));
  }
}

TEST("without zeros supernodes store what the filled pattern has; merging trades zeros for fewer") {
  NOTE(fresh::said());
  fresh::Random random(3);
  for (const Columns& c : triangles::some(random, 30)) {
    const auto L = triangles::filled(c);
    i64 entries = 0;
    for (const auto& column : L) entries += std::count(column.begin(), column.end(), 1);
    const Supernodes exact = find_supernodes(c.pattern(), {.always = 0, .of_narrow = 0, .of_wide = 0, .of_wider = 0});
    const Supernodes merged = find_supernodes(c.pattern());
    CHECK(exact.entries() == entries);
    CHECK(merged.entries() >= entries);
    CHECK(merged.count() <= exact.count());
    CHECK(find_supernodes(c.pattern(), {.always = 1000}).count() ==
          std::count(exact.parent.begin(), exact.parent.end(), no_parent));
  }
}
