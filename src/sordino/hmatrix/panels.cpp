#include "sordino/hmatrix/panels.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/sort_by.hpp"
#include "sordino/hmatrix/strips.hpp"

namespace sordino::hmatrix {
namespace {

// What an H200 is quickest with. No sum's order depends on these but `narrow`.
constexpr i32 narrow = 384;                      // columns that a warp multiplies alone
constexpr i64 enough = 16 << 10;                 // bytes of a warp's panel
constexpr i64 tasks_wanted = 4000;               // several for each block that a device holds
constexpr i64 least = 64 << 10, most = 4 << 20;  // bytes of a block's panel
constexpr i32 warps_of_block = 8;
constexpr i32 rows_copied = 2048;
constexpr i64 few_leaves = 1 << 10, strips_at_once = 64;  // that one thread lists

template <class V>
i32 whole_groups(i64 rows) {
  return i32(std::max<i64>(1, rows / panel_rows<V>)) * panel_rows<V>;
}

/// Rows that lie in `rows`, as a panel's values lie.
template <class V>
void interleave(const V* const* rows, i32 count, i32 columns, V* to) {
  for (i32 first = 0; first < count; first += panel_rows<V>) {
    const i32 here = std::min(panel_rows<V>, count - first);
    for (i32 begin = 0; begin < columns; begin += panel_chunk) {
      const i32 width = std::min(panel_chunk, columns - begin);
      for (i32 i = first; i < first + here; i++, to += width) std::copy_n(rows[i] + begin, width, to);
    }
  }
}

/// A piece of row i of a panel, from a column on, as its values lie: interleave() for what comes in pieces.
template <class V>
void place_row(const V* from, i32 length, const Panel& p, i32 i, i32 column, V* to) {
  for (const i32 end = column + length; column < end;) {
    const i32 chunk = column / panel_chunk * panel_chunk, width = std::min(panel_chunk, p.columns - chunk);
    const i32 here = std::min(end, chunk + width) - column;
    std::copy_n(from, here, to + i64(chunk) * p.rows + i64(i) * width + (column - chunk));
    column += here;
    from += here;
  }
}

}  // namespace

template <class V>
Terms<V>::Terms(const Share<V>& share) : leaves(share.leaves), columns(share.columns) {
  struct Placed {  // so that sorting does not look up leaves
    const LeafOf<V>* leaf;
    RowRange rows;
  };
  std::vector<Placed> placed;
  placed.reserve(leaves.size());
  i32 largest = 0, end = 0;
  for (const LeafOf<V>* l : leaves) {
    placed.push_back({l, l->block.rows});
    largest = std::max(largest, l->block.rows.size()), end = std::max(end, l->block.rows.end);
  }
  sort_by(placed, largest + 1, [largest](const Placed& p) { return largest - p.rows.size(); });
  sort_by(placed, end, [](const Placed& p) { return p.rows.begin; });
  for (std::size_t l = 0; l < placed.size(); l++) leaves[l] = placed[l].leaf;
  first.reserve(leaves.size());
  i64 terms = 0;
  for (const LeafOf<V>* l : leaves) {
    first.push_back(i32(terms));
    if (!l->is_dense()) terms += l->rank;
    require_countable(share, terms);
  }
  count = i32(terms);
}

// A thread block is dealt every n-th task, so what one has more than another is at most the first task.
void Panels::order(std::vector<Draft>& drafts) {
  auto size = [](const Panel& p) { return i64(p.columns) * p.rows; };
  std::vector<std::tuple<bool, bool, i64, std::size_t>> sorted;  // by these, then as they came
  sorted.reserve(drafts.size());
  for (const Draft& d : drafts) sorted.emplace_back(!d.early, !d.by_block, -size(d.panel), sorted.size());
  std::sort(sorted.begin(), sorted.end());
  panels.reserve(drafts.size());
  sources_.reserve(drafts.size());
  struct Sized {
    PanelTask task;
    i64 size;
    bool early;
  };
  std::vector<Sized> sized;
  for (const auto& [late, by_warps, smaller, place] : sorted) {
    Draft& d = drafts[place];
    const i32 number = i32(panels.size());
    d.panel.values = values;
    values += size(d.panel);
    panels.push_back(d.panel);
    sources_.push_back(d.source);
    Sized* last = sized.empty() ? nullptr : &sized.back();
    if (!d.by_block && last && last->task.work == Work::panels_by_warps && last->early == d.early &&
        last->task.count < warps_of_block) {
      last->task.count++;
      last->size += size(d.panel);
    } else {
      sized.push_back({{d.by_block ? Work::panel_by_block : Work::panels_by_warps, number, 1, 0}, size(d.panel), d.early});
    }
  }
  auto before = [](const Sized& a, const Sized& b) { return std::tuple(!a.early, -a.size) < std::tuple(!b.early, -b.size); };
  std::stable_sort(sized.begin(), sized.end(), before);
  const std::vector<PanelTask> copies = std::move(tasks);  // of x, if any: small ones, behind the others
  const auto late = copies.begin() + early;
  tasks.clear();
  auto take = [&](bool now, auto first_copy, auto last_copy) {
    for (const Sized& s : sized)
      if (s.early == now) tasks.push_back(s.task);
    tasks.insert(tasks.end(), first_copy, last_copy);
  };
  take(true, copies.begin(), late);
  early = i32(tasks.size());
  take(false, late, copies.end());
}

// --- V ----------------------------------------------------------------------------------------------------------------------

template <class V>
TermPanels<V>::TermPanels(const Terms<V>& terms, Places places, RowRange own, int threads) {
  const i32 n = terms.columns.size(), first_own = terms.columns.number(own.begin);
  copy_rows(n, places, {first_own, first_own + own.size()});
  std::vector<LeafOfColumns> leaves;
  i64 all = 0;
  i32 largest = 0, last = 0;
  for (std::size_t l = 0; l < terms.leaves.size(); l++) {
    if (terms.leaves[l]->is_dense()) continue;
    const RowRange columns = terms.leaves[l]->block.columns;
    leaves.push_back({i32(l), columns});
    all += i64(terms.leaves[l]->rank) * columns.size();
    largest = std::max(largest, columns.size()), last = std::max(last, columns.begin);
  }
  sort_by(leaves, last + 1, [](const LeafOfColumns& l) { return l.columns.begin; });
  sort_by(leaves, largest + 1, [](const LeafOfColumns& l) { return l.columns.size(); });
  const std::vector<i32> first_result = list_rows(terms, leaves, threads);

  const i64 of_block = std::clamp(i64(sizeof(V)) * all / tasks_wanted, least, most);
  std::vector<Draft> drafts;
  for (std::size_t begin = 0, end = 0; begin < leaves.size(); begin = end) {
    const RowRange columns = leaves[begin].columns;
    auto is_beside = [&](RowRange c) { return c.begin == columns.begin && c.end == columns.end; };
    while (end < leaves.size() && is_beside(leaves[end].columns)) end++;
    const i32 before = first_result[begin], behind = first_result[end];
    const u32 first_run = u32(runs.size());
    const i32 number = terms.columns.number(columns.begin);
    add_runs(places, {number, number + columns.size()});
    const bool by_block = columns.size() > narrow, is_early = columns.begin >= own.begin && columns.end <= own.end;
    const i64 a_row = i64(sizeof(V)) * columns.size();
    const i32 rows = by_block ? i32(std::clamp<i64>(of_block / a_row, 1, panel_rows<V>)) : whole_groups<V>(enough / a_row);
    for (i32 first = before; first < behind; first += rows) {
      const i32 here = std::min(rows, behind - first);
      drafts.push_back({{0, columns.size(), here, first, first_run}, first, is_early, by_block});
    }
  }
  order(drafts);
}

/// Results, and where each row of V lies, of these leaves, one after the other. Where those of each begin.
template <class V>
std::vector<i32> TermPanels<V>::list_rows(const Terms<V>& terms, const std::vector<LeafOfColumns>& of, int threads) {
  std::vector<i32> first{0};
  first.reserve(of.size() + 1);
  for (const LeafOfColumns& l : of) first.push_back(first.back() + terms.leaves[std::size_t(l.leaf)]->rank);
  results.resize(std::size_t(first.back()));
  rows_of_v_ = LargeArray<const V*>(results.size());
  auto list = [&](i64 begin, i64 end) {
    for (auto k = std::size_t(begin); k < std::size_t(end); k++) {
      const auto l = std::size_t(of[k].leaf);
      const LeafOf<V>& leaf = *terms.leaves[l];
      for (i32 row = 0; row < leaf.rank; row++) {
        results[std::size_t(first[k] + row)] = terms.columns.size() + terms.first[l] + row;
        rows_of_v_[std::size_t(first[k] + row)] = leaf.v + i64(row) * leaf.block.columns.size();
      }
    }
  };
  for_parts(0, i64(of.size()), list, few_leaves, threads);
  return first;
}

template <class V>
void TermPanels<V>::copy_rows(i32 n, Places places, RowRange own) {
  auto copy = [&](i32 begin, i32 end) {
    for (i32 row = begin; row < end; row += rows_copied)
      tasks.push_back({Work::copy, row, std::min(rows_copied, end - row), places.of(row) - row});
  };
  copy(own.begin, own.end);
  early = i32(tasks.size());
  copy(0, own.begin);
  copy(own.end, n);
}

template <class V>
void TermPanels<V>::add_runs(Places places, RowRange columns) {
  for (i32 at = columns.begin, end; at < columns.end; at = end) {
    end = columns.end;
    for (i32 cut : {places.begin, places.begin + places.rows})
      if (cut > at && cut < end) end = cut;
    runs.push_back({end - columns.begin, places.of(at) - (at - columns.begin)});
  }
}

template <class V>
void TermPanels<V>::fill(i32 panel, V* to) const {
  const Panel& p = panels[std::size_t(panel)];
  interleave(rows_of_v_.data() + sources_[std::size_t(panel)], p.rows, p.columns, to);
}

// --- D and U ----------------------------------------------------------------------------------------------------------------

template <class V>
StripPanels<V>::StripPanels(const ClusterTree& tree, const Terms<V>& terms, const RowSet& rows, i32 first, int threads) {
  const std::vector<RowRange> strips = strips_of(tree, rows);
  collect(terms, strips, threads);
  struct Part {  // some strips'
    std::vector<Run> runs;
    std::vector<i32> columns;
    std::vector<u32> first_run;
  };
  const auto count = i64(strips.size());
  std::vector<Part> parts(std::size_t((count + strips_at_once - 1) / strips_at_once));
  auto list = [&](i64 begin, i64 end, int) {
    Part& part = parts[std::size_t(begin / strips_at_once)];
    for (i64 s = begin; s < end; s++) {
      const std::span<Source> sources = of_strip(s);
      std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.operand < b.operand; });
      part.first_run.push_back(u32(part.runs.size()));
      part.columns.push_back(add_runs(sources, part.runs));
    }
  };
  deal_out(count, strips_at_once, threads, list);
  std::vector<Draft> drafts;
  for (std::size_t s = 0; s < strips.size();) {
    const Part& part = parts[s / std::size_t(strips_at_once)];
    const u32 before = u32(runs.size());
    runs.insert(runs.end(), part.runs.begin(), part.runs.end());
    for (std::size_t k = 0; k < part.columns.size(); k++, s++) {
      const i32 begin = first_.emplace_back(first + rows.number(strips[s].begin)), end = begin + strips[s].size();
      for (i32 row = begin; row < end; row += panel_rows<V>)
        drafts.push_back(
            {{0, part.columns[k], std::min(panel_rows<V>, end - row), row, before + part.first_run[k]}, i32(s), true, true});
    }
  }
  order(drafts);
}

/// The pieces of each strip, in the order of the terms' leaves.
template <class V>
void StripPanels<V>::collect(const Terms<V>& terms, const std::vector<RowRange>& strips, int threads) {
  const auto leaves = i64(terms.leaves.size()), count = i64(strips.size());
  LargeArray<RowRange> met(terms.leaves.size());  // strips, by each leaf
  auto meet = [&](i64 begin, i64 end) {
    for (auto l = std::size_t(begin); l < std::size_t(end); l++) met[l] = strips_met(terms.leaves[l]->block.rows, strips);
  };
  for_parts(0, leaves, meet, few_leaves, threads);
  first_source_.resize(strips.size() + 1);  // at first, behind each strip, how many more it has than the one before
  for (RowRange m : met) {
    if (m.size() == 0) continue;
    first_source_[std::size_t(m.begin) + 1]++;
    if (m.end < count) first_source_[std::size_t(m.end) + 1]--;
  }
  for (int times = 0; times < 2; times++) std::partial_sum(first_source_.begin(), first_source_.end(), first_source_.begin());
  all_sources_ = LargeArray<Source>(std::size_t(first_source_.back()));
  auto fill = [&](i64 first, i64 end) {  // of these strips; each thread looks at all leaves
    std::vector<i64> next(first_source_.begin() + first, first_source_.begin() + end);
    for (std::size_t l = 0; l < terms.leaves.size(); l++) {
      const RowRange mine{std::max(met[l].begin, i32(first)), std::min(met[l].end, i32(end))};
      if (mine.begin >= mine.end) continue;
      const LeafOf<V>& leaf = *terms.leaves[l];
      const RowRange block = leaf.block.rows, columns = leaf.block.columns;
      const i32 operand = leaf.is_dense() ? terms.columns.number(columns.begin) : terms.columns.size() + terms.first[l];
      const i32 length = leaf.is_dense() ? columns.size() : leaf.rank;
      for (i64 s = mine.begin; s < mine.end; s++)
        all_sources_[std::size_t(next[std::size_t(s - first)]++)] = {
            leaf.u + i64(strips[std::size_t(s)].begin - block.begin) * length, operand, length};
    }
  };
  for_parts(0, count, fill, strips_at_once, threads);
}

/// How many columns they are; one run at least, which a panel without columns looks at as well.
template <class V>
i32 StripPanels<V>::add_runs(std::span<const Source> sources, std::vector<Run>& runs) {
  const std::size_t first = runs.size();
  i32 columns = 0;
  for (const Source& p : sources) {
    const i32 shift = p.operand - columns;
    columns += p.length;
    if (runs.size() > first && runs.back().shift == shift)
      runs.back().end = columns;
    else
      runs.push_back({columns, shift});
  }
  if (sources.empty()) runs.push_back({0, 0});
  return columns;
}

template <class V>
void StripPanels<V>::fill(i32 panel, V* to) const {
  const Panel& p = panels[std::size_t(panel)];
  const i32 strip = sources_[std::size_t(panel)];
  const i64 below = p.first - first_[std::size_t(strip)];  // rows of the strip before the panel's
  i32 column = 0;
  for (const Source& s : of_strip(strip)) {
    const V* from = s.values + below * s.length;
    for (i32 i = 0; i < p.rows; i++, from += s.length) place_row(from, s.length, p, i, column, to);
    column += s.length;
  }
}

template struct Terms<double>;
template struct Terms<Number>;
template class TermPanels<double>;
template class TermPanels<Number>;
template class StripPanels<double>;
template class StripPanels<Number>;

}  // namespace sordino::hmatrix
