// The functor of an H-matrix's product on GPUs, where a row of a command is a task of a thread block: it multiplies panels,
// dense matrices of a few rows and many columns. Terms whose columns are the same cluster make panels of V; the pieces of all
// blocks that the rows of a leaf cluster lie in stand beside each other in panels of (D U). So a product reads its values
// once, from the first to the last, 32 columns of up to 16 rows at a time, 8 of complex ones; all the rest is some per cent of
// them.
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
/// values: of a complex matrix two words each, which are added up as if they were two rows.
template <Access how, class V>
struct PanelRows {
  static constexpr const char* name = how == Access::ghost ? "Project" : "Strips";
  static constexpr bool by_blocks = true;
  static constexpr int resident_blocks = 3;
  const PanelTask* tasks;
  const Panel* panels;
  const Run* runs;
  const i32* results;  // rows of the result; null: they are the panels' own numbers
  const V* values;
  Cost work;
  Foreign<const V, how> operand;
  Foreign<V, Access::write> result;

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
  static constexpr i32 parts = words_of<V>, most = panel_rows<V>;
  static constexpr i32 loads = 8 / parts;  // of a chunk at once: more take registers that more threads make better use of

  /// The chunks of a panel that one of `among` warps takes.
  template <class Threads>
  SORDINO_HD void multiply(const Panel& panel, int nth, int among, const Threads& threads) const {
    i64 at = panel.values;
    for (i32 first = 0; first < panel.rows; first += most) {
      const Group here{at, first, panel.rows - first < most ? panel.rows - first : most, nth, among};
      if (here.rows > most / 2)
        multiply<most, 1>(panel, here, threads);
      else if (here.rows > most / 4)
        multiply<most / 2, 2>(panel, here, threads);
      else
        multiply<most / 4, 4>(panel, here, threads);
      at += i64(here.rows) * panel.columns;
    }
  }
  struct Group {
    i64 values;
    i32 first, rows;  // of the panel's
    int nth, among;   // warps
  };
  /// Of up to M rows. Where they are few, a thread has `chunks` of its own on their way at once, in their order.
  template <i32 M, int chunks, class Threads>
  SORDINO_HD void multiply(const Panel& panel, const Group& g, const Threads& threads) const {
    constexpr int ahead = Threads::lanes == 1 ? 1 : chunks;
    constexpr i32 at_once = M < loads ? M : loads;
    const i32 step = g.among * panel_chunk;
    double sums[parts * M] = {};
    const Run* next = runs + panel.runs;
    Run run = *next;
    for (i32 begin = g.nth * panel_chunk; begin < panel.columns; begin += ahead * step) {
      for (i32 k = threads.lane; k < panel_chunk; k += Threads::lanes) {  // once, on a GPU
        V x[ahead] = {};
        for (i32 row = 0; row < M; row += at_once) {
          V v[ahead][at_once];  // the first ones on their way before the operand, whose place is to be looked up, is waited for
          for (int c = 0; c < ahead; c++) {
            const i32 left = panel.columns - begin - c * step, width = left < panel_chunk ? left : panel_chunk;
            const V* chunk = values + g.values + i64(begin + c * step) * g.rows + k;
            for (i32 i = 0; i < at_once; i++)
              v[c][i] = k < width && row + i < g.rows ? read_once(chunk + (row + i) * width) : V{};
          }
          for (int c = 0; row == 0 && c < ahead; c++) {
            const i32 column = begin + c * step + k;
            if (column >= panel.columns) break;
            while (column >= run.end) run = *++next;
            x[c] = operand[column + run.shift];
          }
          for (int c = 0; c < ahead; c++)
            for (i32 i = 0; i < at_once; i++) add(sums + parts * (row + i), v[c][i], x[c]);
        }
      }
    }
    threads.sum(sums, parts * g.rows, g.among > 1, [&](i32 i, double sum) {
      const i32 row = panel.first + g.first + i / parts;
      words(&result[results ? results[row] : row])[i % parts] = sum;
    });
  }
  SORDINO_HD static void add(double* sum, double a, double x) { *sum += a * x; }
  SORDINO_HD static void add(double* sum, Number a, Number x) {
    sum[0] += a.re * x.re;
    sum[0] -= a.im * x.im;
    sum[1] += a.re * x.im;
    sum[1] += a.im * x.re;
  }
};

template <class V>
using PanelKernelsOf = KernelList<Kernel<PanelRows<Access::ghost, V>>, Kernel<PanelRows<Access::read, V>>>;
using PanelKernels = decltype(joined(PanelKernelsOf<double>{}, PanelKernelsOf<Number>{}));

}  // namespace sordino::hmatrix
