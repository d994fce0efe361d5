// The panels of an H-matrix's product on GPUs (panel_rows.hpp): which values stand beside each other, and who multiplies them.
// The paper (000, section V-B) sorts blocks by size into batches of products, and adds atomically; here what meets in a cluster
// is one product, whichever blocks it is of.
#pragma once
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/panel_rows.hpp"
#include "sordino/hmatrix/row_strips.hpp"

namespace sordino::hmatrix {

/// Leaves with values for some rows, and their terms' numbers: those of blocks with the same rows follow one another, so what a
/// row of the result adds up lies in few runs, one for each cluster that it is in.
template <class V>
struct Terms {
  Terms(const HMatrixOf<V>& matrix, RowRange rows);

  std::vector<const LeafOf<V>*> leaves;  // by their rows, larger ones first, then from left to right
  std::vector<i32> first;                // [leaves] the first term of each
  i32 count = 0;
};

/// Tables of one command. Memory: 24 B a panel, 16 B a task, 8 B a run, 4 B a term.
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
  /// Rows of x lie where `places` says, `own` of them at hand before the others arrive.
  TermPanels(const Terms<V>& terms, i32 n, Places places, RowRange own);
  /// Values of a panel, as they lie.
  void fill(i32 panel, V* to) const;

 private:
  void copy_rows(i32 n, Places places, RowRange own);
  void add_runs(Places places, RowRange columns);
  std::vector<const V*> rows_of_v_;  // [results]
};

/// Of y = (D U) z, whose rows [rows) are y's from `first` on.
template <class V>
class StripPanels final : public Panels {
 public:
  StripPanels(const HMatrixOf<V>& matrix, const Terms<V>& terms, RowRange rows, i32 first);
  /// Values of a panel, as they lie.
  void fill(i32 panel, V* to) const;

 private:
  struct Source {
    const V* values;  // of the leaf's first row
    i32 row, operand, length;
  };
  std::vector<std::vector<Source>> strips_;  // by the rows of z that they need
  i32 shift_;                                // from a row of y to one of the whole
};

}  // namespace sordino::hmatrix
