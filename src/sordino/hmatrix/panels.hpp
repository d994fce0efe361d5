// The panels of an H-matrix's product on GPUs (panel_rows.hpp): which values stand beside each other, and who multiplies them.
// The paper (000, section V-B) sorts blocks by size into batches of products, and adds atomically; here what meets in a cluster
// is one product, whichever blocks it is of.
#pragma once
#include <span>
#include <vector>

#include "sordino/base/large_array.hpp"
#include "sordino/hmatrix/panel_rows.hpp"
#include "sordino/hmatrix/row_strips.hpp"
#include "sordino/hmatrix/share.hpp"

namespace sordino::hmatrix {

/// A share's leaves, and their terms' numbers: those of blocks with the same rows follow one another, so what a row of the
/// result adds up lies in few runs, one for each cluster that it is in.
template <class V>
struct Terms {
  explicit Terms(const Share<V>& share);

  std::vector<const LeafOf<V>*> leaves;  // by their rows, larger ones first, then from left to right
  std::vector<i32> first;                // [leaves] the first term of each
  i32 count = 0;
  const RowSet& columns;  // the share's
};

/// Tables of one command. Memory: 24 B a panel, 16 B a task, 8 B a run, 4 B a term. Made by so many threads, 0: as many as
/// there are cores, with the same result; filled by whoever asks.
class Panels {
 public:
  std::vector<PanelTask> tasks;  // large ones first, so that blocks that get the same number of them end together;
  i32 early = 0;                 //   those that need own rows of x alone before all others
  std::vector<Panel> panels;     // in the order of their values
  std::vector<Run> runs;
  std::vector<i32> results;  // PanelRows::results
  i64 values = 0;

 protected:
  struct Draft {
    Panel panel;
    i32 source;  // what fill() is told
    bool early, by_block;
  };
  void order(std::vector<Draft>& drafts);  // large ones first: values, panels and tasks
  std::vector<i32> sources_;               // [panels]
};

/// Of z = (x, V^T x). Terms' results do not depend on how they are shared: a column is always added by the same lane.
template <class V>
class TermPanels final : public Panels {
 public:
  /// Columns of the share lie in x where `places` says; those in `own`, of the whole, are at hand before the others arrive.
  TermPanels(const Terms<V>& terms, Places places, RowRange own, int threads = 0);
  /// Values of a panel, as they lie.
  void fill(i32 panel, V* to) const;

 private:
  struct LeafOfColumns {
    i32 leaf;
    RowRange columns;
  };
  void copy_rows(i32 n, Places places, RowRange own);  // by their numbers
  void add_runs(Places places, RowRange columns);
  std::vector<i32> list_rows(const Terms<V>& terms, const std::vector<LeafOfColumns>& of, int threads);
  LargeArray<const V*> rows_of_v_;  // [results]
};

/// Of y = (D U) z, of these rows, which are y's from `first` on.
template <class V>
class StripPanels final : public Panels {
 public:
  StripPanels(const ClusterTree& tree, const Terms<V>& terms, const RowSet& rows, i32 first, int threads = 0);
  /// Values of a panel, as they lie.
  void fill(i32 panel, V* to) const;

 private:
  struct Source {
    const V* values;  // of the strip's first row
    i32 operand, length;
  };
  void collect(const Terms<V>& terms, const std::vector<RowRange>& strips, int threads);
  static i32 add_runs(std::span<const Source> sources, std::vector<Run>& runs);
  std::span<Source> of_strip(i64 s) {
    return {all_sources_.begin() + first_source_[std::size_t(s)], all_sources_.begin() + first_source_[std::size_t(s) + 1]};
  }
  std::span<const Source> of_strip(i64 s) const {
    return {all_sources_.begin() + first_source_[std::size_t(s)], all_sources_.begin() + first_source_[std::size_t(s) + 1]};
  }
  LargeArray<Source> all_sources_;  // of each strip by the rows of z that they need
  std::vector<i64> first_source_;   // [strips + 1] where its own begin
  std::vector<i32> first_;          // row of y of each strip
};

}  // namespace sordino::hmatrix
