// The functor of an H-matrix's product on GPUs, where a row of a command is a task of a thread block: it multiplies panels,
// dense matrices of a few rows and many columns. Terms whose columns are the same cluster make panels of V; the pieces of all
// blocks that the rows of a leaf cluster lie in stand beside each other in panels of (D U). So a product reads its values
// once, from the first to the last, 32 columns of up to 16 rows at a time, 8 of complex ones; all the rest is some per cent of
// them. Of several vectors, whose rows lie interleaved, a value is multiplied with all before the next is loaded.
#pragma once
#include "sordino/hmatrix/values.hpp"
#include "sordino/linalg/csr_rows.hpp"
#include "sordino/runtime/one_thread.hpp"

namespace sordino::hmatrix {

/// Columns of a panel before `end`, behind those of the run before it, are multiplied with the operand's rows `shift` further
/// on.
struct Run {
  i32 end, shift;
};

/// Its values lie in groups of `panel_rows` rows; in a group, in chunks of `panel_chunk` columns; in a chunk, row by row.
struct Panel {
  i64 values;  // where they begin
  i32 columns, rows;
  i32 first;  // of its rows: place in the table of results, or row of the result where there is none
  u32 runs;   // its first run
};
/// As many sums as a thread has registers for.
template <class V>
inline constexpr i32 panel_rows = 16 / words_of<V>;
constexpr i32 panel_chunk = 32;

/// What a block does at a time: rows of x that are copied, panels of which each warp takes every eighth, or a panel that all
/// warps share.
enum class Work : i32 { copy, panels_by_warps, panel_by_block };
struct PanelTask {
  Work work;
  i32 first, count;  // panels; or rows of z that are copied,
  i32 shift;         //   from rows of x so much further on
};

/// z = (x, V^T x) with how = ghost, or y = (D U) z with how = read: row_strips.hpp, in another order. Rows of vectors are
/// values, or C of them: of a complex matrix two words each. All words of a row are added up as if they were rows of their own,
/// and each in the order that it has where it is alone.
template <Access how, class V, int C = 1>
struct PanelRows {
  using Row = RowOf<V, C>;
  static constexpr const char* name = how == Access::ghost ? "Project" : "Strips";
  static constexpr bool by_blocks = true;
  static constexpr int resident_blocks = C == 1 ? 3 : 2;
  const PanelTask* tasks;
  const Panel* panels;
  const Run* runs;
  const i32* results;  // rows of the result; null: they are the panels' own numbers
  const V* values;
  Cost work;
  Foreign<const Row, how> operand;
  Foreign<Row, Access::write> result;

  template <class Visit>
  SORDINO_HD void fields(Visit&& visit) {
    visit(operand);
    visit(result);
  }
  SORDINO_HD void row(i32 task) const { row(task, OneThread{}); }
  template <class Threads>
  SORDINO_HD void row(i32 task, const Threads& threads) const {
    const PanelTask t = tasks[task];
    const bool together = t.work == Work::panel_by_block;
    const int nth = together ? threads.warp : 0, among = together ? Threads::warps : 1;
    if (t.work != Work::copy) {
      for (i32 k = together ? 0 : threads.warp; k < t.count; k += together ? 1 : Threads::warps)
        multiply(panels[t.first + k], nth, among, threads);
      return;
    }
    const i32 all = Threads::warps * Threads::lanes;
    for (i32 k = threads.warp * Threads::lanes + threads.lane; k < t.count; k += all)
      result[t.first + k] = operand[t.first + t.shift + k];
  }
  Cost cost() const { return work; }

 private:
  static constexpr i32 parts = words_of<Row>, most = panel_rows<V>;
  static constexpr i32 loads = 8 / words_of<V>;  // of a chunk at once: more take registers that more threads make better use of
  static constexpr i32 sums_at_once = 16;        // that threads add up together
  static constexpr i32 at_most = 2 * sums_at_once / parts < most ? 2 * sums_at_once / parts : most;  // rows of several vectors

  /// The chunks of a panel that one of `among` warps takes.
  template <class Threads>
  SORDINO_HD void multiply(const Panel& panel, int nth, int among, const Threads& threads) const {
    i64 at = panel.values;
    for (i32 first = 0; first < panel.rows; first += most) {
      const Group here{at, first, panel.rows - first < most ? panel.rows - first : most, nth, among};
      if constexpr (C > 1) {
        for (i32 row = 0; row < here.rows; row += at_most) multiply<at_most, 1>(panel, here, row, threads);
      } else {
        if (here.rows > most / 2)
          multiply<most, 1>(panel, here, 0, threads);
        else if (here.rows > most / 4)
          multiply<most / 2, 2>(panel, here, 0, threads);
        else
          multiply<most / 4, 4>(panel, here, 0, threads);
      }
      at += i64(here.rows) * panel.columns;
    }
  }
  struct Group {
    i64 values;
    i32 first, rows;  // of the panel's
    int nth, among;   // warps
  };
  /// Of up to M rows of a group, from one of them on. Where they are few, a thread has `chunks` of its own on their way at
  /// once, in their order.
  template <i32 M, int chunks, class Threads>
  SORDINO_HD void multiply(const Panel& panel, const Group& g, i32 from, const Threads& threads) const {
    constexpr int ahead = Threads::lanes == 1 ? 1 : chunks;
    constexpr i32 at_once = M < loads ? M : loads, all = parts * M, together = all < sums_at_once ? all : sums_at_once;
    const i32 step = g.among * panel_chunk, rows = g.rows - from < M ? g.rows - from : M;
    double sums[all / together][together] = {};
    const Run* next = runs + panel.runs;
    Run run = *next;
    for (i32 begin = g.nth * panel_chunk; begin < panel.columns; begin += ahead * step) {
      for (i32 k = threads.lane; k < panel_chunk; k += Threads::lanes) {  // once, on a GPU
        Row x[ahead] = {};
        for (i32 row = 0; row < M; row += at_once) {
          V v[ahead][at_once];  // the first ones on their way before the operand, whose place is to be looked up, is waited for
          for (int c = 0; c < ahead; c++) {
            const i32 left = panel.columns - begin - c * step, width = left < panel_chunk ? left : panel_chunk;
            const V* chunk = values + g.values + i64(begin + c * step) * g.rows + from * width + k;
            for (i32 i = 0; i < at_once; i++)
              v[c][i] = k < width && row + i < rows ? read_once(chunk + (row + i) * width) : V{};
          }
          for (int c = 0; row == 0 && c < ahead; c++) {
            const i32 column = begin + c * step + k;
            if (column >= panel.columns) break;
            while (column >= run.end) run = *++next;
            x[c] = operand[column + run.shift];
          }
          for (int c = 0; c < ahead; c++)
            for (i32 i = 0; i < at_once; i++) add(&sums[0][0] + parts * (row + i), v[c][i], x[c]);
        }
      }
    }
    for (i32 s = 0; s < all; s += together) {
      if (s >= parts * rows) break;
      threads.sum(sums[s / together], parts * rows - s < together ? parts * rows - s : together, g.among > 1,
                  [&](i32 i, double sum) {
                    const i32 row = panel.first + g.first + from + (s + i) / parts;
                    words(&result[results ? results[row] : row])[(s + i) % parts] = sum;
                  });
    }
  }
  SORDINO_HD static void add(double* sum, double a, double x) { *sum += a * x; }
  SORDINO_HD static void add(double* sum, Number a, Number x) {
    sum[0] += a.re * x.re;
    sum[0] -= a.im * x.im;
    sum[1] += a.re * x.im;
    sum[1] += a.im * x.re;
  }
  template <int columns>
  SORDINO_HD static void add(double* sum, V a, const Several<V, columns>& x) {
    for (int c = 0; c < columns; c++) add(sum + words_of<V> * c, a, x.at[c]);
  }
};

template <int C>
using PanelKernelsOf = KernelList<Kernel<PanelRows<Access::ghost, double, C>>, Kernel<PanelRows<Access::read, double, C>>,
                                  Kernel<PanelRows<Access::ghost, Number, C>>, Kernel<PanelRows<Access::read, Number, C>>>;
using PanelKernels = decltype(joined(PanelKernelsOf<1>{}, PanelKernelsOf<2>{}, PanelKernelsOf<4>{}, PanelKernelsOf<8>{}));

}  // namespace sordino::hmatrix
