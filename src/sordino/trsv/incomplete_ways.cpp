#include "sordino/trsv/incomplete_ways.hpp"

#include <algorithm>
#include <numeric>

namespace sordino::trsv {
namespace {

/// A triangle without its diagonal, by rows: what is subtracted, in that order.
struct Products {
  std::vector<i64> begin;    // [rows + 1]
  std::vector<i32> columns;  // rows of x
  std::vector<i64> sources;
};

/// Entries first(i), ..., end(i) - 1 of each row, counted from its begin.
template <class First, class End>
Products products_by_rows(const IncompletePattern& f, const First& first, const End& end) {
  Products p{.begin = {0}, .columns = {}, .sources = {}};
  for (i32 i = 0; i < f.rows; i++) {
    for (i64 e = f.begin[i] + first(i); e < end(i); e++) p.columns.push_back(f.columns[e]), p.sources.push_back(e);
    p.begin.push_back(i64(p.columns.size()));
  }
  return p;
}

/// Of L^T: a row's are those of L's column, which is applied from the last row of L on.
Products products_by_columns(const IncompletePattern& f) {
  Products p{.begin = std::vector<i64>(std::size_t(f.rows) + 1, 0), .columns = {}, .sources = {}};
  auto each = [&](const auto& visit) {
    for (i32 i = f.rows; i-- > 0;)
      for (i64 e = f.begin[i]; e < f.begin[i] + f.diagonal[i]; e++) visit(i, e);
  };
  each([&](i32, i64 e) { p.begin[std::size_t(f.columns[e]) + 1]++; });
  std::partial_sum(p.begin.begin(), p.begin.end(), p.begin.begin());
  p.columns.resize(std::size_t(p.begin.back()));
  p.sources.resize(p.columns.size());
  std::vector<i64> next(p.begin.begin(), p.begin.end() - 1);
  each([&](i32 i, i64 e) {
    const std::size_t at = std::size_t(next[std::size_t(f.columns[e])]++);
    p.columns[at] = i, p.sources[at] = e;
  });
  return p;
}

/// `level` of each row, whose columns are of rows before it, or, on the way back, behind it.
std::vector<i32> levels_of(const Products& p, bool back) {
  const i64 rows = i64(p.begin.size()) - 1;
  std::vector<i32> level(std::size_t(rows), 0);
  for (i64 k = 0; k < rows; k++) {
    const std::size_t i = std::size_t(back ? rows - 1 - k : k);
    for (i64 e = p.begin[i]; e < p.begin[i + 1]; e++)
      level[i] = std::max(level[i], level[std::size_t(p.columns[std::size_t(e)])] + 1);
  }
  return level;
}

IncompleteWay packed_way(const Products& p, Direction direction, bool has_pivots) {
  IncompleteWay way{.has_pivots = has_pivots};
  LevelRows by_level{
      .direction = direction, .n = i64(p.begin.size()) - 1, .order = {}, .level_begin = {}, .begin = {}, .columns = {}};
  if (by_level.n == 0) return way;
  sort_by_level(levels_of(p, direction == Direction::backward), by_level);
  const std::vector<i32> place = places_of(by_level);
  for (i32 k = 0; k < i32(by_level.n); k++) {
    const i32 row = by_level.order[std::size_t(k)];
    const i64 count = p.begin[std::size_t(row) + 1] - p.begin[std::size_t(row)];
    way.packed.add({.row = row, .place = k, .count = i32(count)});
  }
  way.columns.assign(std::size_t(way.packed.slots()), 0);
  way.sources.assign(std::size_t(way.packed.slots()), -1);
  way.packed.each_slot([&](i64 slot, std::size_t k, i32 e) {
    const std::size_t at = std::size_t(p.begin[std::size_t(way.packed.rows()[k].row)] + e);
    way.columns[std::size_t(slot)] = place[std::size_t(p.columns[at])];
    way.sources[std::size_t(slot)] = p.sources[at];
  });
  return way;
}

}  // namespace

i64 IncompleteWay::bytes() const {
  return i64(packed.slices().size() * sizeof(LevelSlice) + columns.size() * (sizeof(i32) + sizeof(double))) +
         i64(rows()) * i64(sizeof(LevelRow) + sizeof(double) * (has_pivots ? 2 : 1));
}

IncompleteWay way_forward(const IncompletePattern& f, Incomplete kind) {
  const Products below = products_by_rows(f, [](i32) { return 0; }, [&](i32 i) { return f.begin[i] + f.diagonal[i]; });
  return packed_way(below, Direction::forward, kind == Incomplete::ic0);
}

IncompleteWay way_back(const IncompletePattern& f, Incomplete kind) {
  const Products above =
      kind == Incomplete::ic0
          ? products_by_columns(f)
          : products_by_rows(f, [&](i32 i) { return f.diagonal[i] + 1; }, [&](i32 i) { return f.begin[i + 1]; });
  return packed_way(above, Direction::backward, true);
}

std::vector<double> values_of(const IncompleteWay& way, const double* values) {
  std::vector<double> of_slots(way.sources.size(), 0.0);
  for (std::size_t k = 0; k < of_slots.size(); k++)
    if (way.sources[k] >= 0) of_slots[k] = values[way.sources[k]];
  return of_slots;
}

std::vector<double> pivots_of(const IncompleteWay& way, const double* inverse_pivots) {
  std::vector<double> pivots;
  for (const LevelRow& row : way.packed.rows()) pivots.push_back(inverse_pivots[row.row]);
  return pivots;
}

}  // namespace sordino::trsv
