#include "sordino/hmatrix/panels.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sordino/base/error.hpp"
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

}  // namespace

template <class V>
Terms<V>::Terms(const Share<V>& share) : leaves(share.leaves), columns(share.columns) {
  auto key = [](const LeafOf<V>* l) { return std::tuple(l->block.rows.begin, -l->block.rows.size(), l->block.columns.begin); };
  std::stable_sort(leaves.begin(), leaves.end(), [&](const LeafOf<V>* a, const LeafOf<V>* b) { return key(a) < key(b); });
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
  auto key = [&](const Draft& d) { return std::tuple(!d.early, !d.by_block, -size(d.panel)); };
  std::stable_sort(drafts.begin(), drafts.end(), [&](const Draft& a, const Draft& b) { return key(a) < key(b); });
  struct Sized {
    PanelTask task;
    i64 size;
    bool early;
  };
  std::vector<Sized> sized;
  for (Draft& d : drafts) {
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
TermPanels<V>::TermPanels(const Terms<V>& terms, Places places, RowRange own) {
  const i32 n = terms.columns.size(), first_own = terms.columns.number(own.begin);
  copy_rows(n, places, {first_own, first_own + own.size()});
  std::vector<i32> by_columns;
  i64 all = 0;
  for (std::size_t l = 0; l < terms.leaves.size(); l++) {
    if (terms.leaves[l]->is_dense()) continue;
    by_columns.push_back(i32(l));
    all += i64(terms.leaves[l]->rank) * terms.leaves[l]->block.columns.size();
  }
  auto columns_of = [&](i32 l) { return terms.leaves[std::size_t(l)]->block.columns; };
  auto key = [&](i32 l) { return std::pair(columns_of(l).size(), columns_of(l).begin); };
  std::stable_sort(by_columns.begin(), by_columns.end(), [&](i32 a, i32 b) { return key(a) < key(b); });

  const i64 of_block = std::clamp(i64(sizeof(V)) * all / tasks_wanted, least, most);
  std::vector<Draft> drafts;
  for (std::size_t begin = 0, end = 0; begin < by_columns.size(); begin = end) {
    const RowRange columns = columns_of(by_columns[begin]);
    const i32 before = i32(results.size());
    for (; end < by_columns.size() && key(by_columns[end]) == key(by_columns[begin]); end++) {
      const LeafOf<V>& leaf = *terms.leaves[std::size_t(by_columns[end])];
      for (i32 k = 0; k < leaf.rank; k++) {
        results.push_back(n + terms.first[std::size_t(by_columns[end])] + k);
        rows_of_v_.push_back(leaf.v + i64(k) * columns.size());
      }
    }
    const u32 first_run = u32(runs.size());
    const i32 number = terms.columns.number(columns.begin);
    add_runs(places, {number, number + columns.size()});
    const bool by_block = columns.size() > narrow, is_early = columns.begin >= own.begin && columns.end <= own.end;
    const i64 a_row = i64(sizeof(V)) * columns.size();
    const i32 rows = by_block ? i32(std::clamp<i64>(of_block / a_row, 1, panel_rows<V>)) : whole_groups<V>(enough / a_row);
    for (i32 first = before; first < i32(results.size()); first += rows) {
      const i32 here = std::min(rows, i32(results.size()) - first);
      drafts.push_back({{0, columns.size(), here, first, first_run}, first, is_early, by_block});
    }
  }
  order(drafts);
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
StripPanels<V>::StripPanels(const ClusterTree& tree, const Terms<V>& terms, const RowSet& rows, i32 first) {
  const std::vector<RowRange> strips = strips_of(tree, rows);
  strips_.resize(strips.size());
  for (std::size_t l = 0; l < terms.leaves.size(); l++) {
    const LeafOf<V>& leaf = *terms.leaves[l];
    const RowRange columns = leaf.block.columns;
    const i32 operand = leaf.is_dense() ? terms.columns.number(columns.begin) : terms.columns.size() + terms.first[l];
    const i32 length = leaf.is_dense() ? columns.size() : leaf.rank;
    each_strip(leaf.block.rows, strips, [&](std::size_t s) {
      strips_[s].push_back({leaf.u + i64(strips[s].begin - leaf.block.rows.begin) * length, operand, length});
    });
  }
  std::vector<Draft> drafts;
  for (std::size_t s = 0; s < strips_.size(); s++) {
    auto before = [](const Source& a, const Source& b) { return a.operand < b.operand; };
    std::sort(strips_[s].begin(), strips_[s].end(), before);
    const u32 first_run = u32(runs.size());
    const i32 columns = add_runs(strips_[s]);
    const i32 begin = first_.emplace_back(first + rows.number(strips[s].begin)), end = begin + strips[s].size();
    for (i32 row = begin; row < end; row += panel_rows<V>)
      drafts.push_back({{0, columns, std::min(panel_rows<V>, end - row), row, first_run}, i32(s), true, true});
  }
  order(drafts);
}

/// How many columns they are; one run at least, which a panel without columns looks at as well.
template <class V>
i32 StripPanels<V>::add_runs(const std::vector<Source>& sources) {
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
  const auto strip = std::size_t(sources_[std::size_t(panel)]);
  std::vector<V> values(std::size_t(p.rows) * std::size_t(p.columns));
  const V* rows[panel_rows<V>] = {};
  for (i32 i = 0; i < p.rows; i++) {
    V* next = values.data() + i64(i) * p.columns;
    rows[i] = next;
    for (const Source& s : strips_[strip])
      next = std::copy_n(s.values + i64(p.first - first_[strip] + i) * s.length, s.length, next);
  }
  interleave(rows, p.rows, p.columns, to);
}

template struct Terms<double>;
template struct Terms<Number>;
template class TermPanels<double>;
template class TermPanels<Number>;
template class StripPanels<double>;
template class StripPanels<Number>;

}  // namespace sordino::hmatrix
