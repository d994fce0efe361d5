#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/panels.hpp"
#include "sordino/hmatrix/product.hpp"
#include "sordino/linalg/epilogue.hpp"

namespace sordino::hmatrix {
namespace {

/// A command of any number of columns: its rows, which are tasks, and their space.
template <class V>
struct Tasks {
  int space = -1;
  const PanelTask* tasks = nullptr;
  const Panel* panels = nullptr;
  const Run* runs = nullptr;
  const i32* results = nullptr;
  const V* values = nullptr;
  i64 count = 0;    // of values,
  double rows = 0;  //   and of rows of vectors that it reads and writes
};

int add_space(Rank& rank, i32 rows) {
  Space s;
  s.n_global = s.rows = rows;
  set_tiles(s, {0, rows});
  return rank.add_space(std::move(s));
}

/// In the engine's memory.
template <class V>
class Tables {
 public:
  Tables(Rank& rank, const Layout<V>& of) : memory_(rank), threads_(thread_count_of_each(0, rank.engine().local_ranks())) {
    const i32 n = of.share.columns.size();
    const Terms<V> terms(of.share);
    const TermPanels<V> panels(terms, of.x, of.at_hand, threads_);
    operands = n + terms.count;
    store(rank, panels, n + double(operands), project);
    split = {{{0, panels.early}}, {{panels.early, i32(panels.tasks.size())}}};
    if (split.rest[0].size() == 0) split.rest.clear();
    add_strips(rank, of.tree, terms, RowSet(of.own), of.first, own);
    if (const RowSet rest = of.share.rows.without(of.own); rest.size() > 0) add_strips(rank, of.tree, terms, rest, 0, others);
  }
  i64 bytes() const { return memory_.bytes(); }

  i32 operands = 0;  // rows of z
  Split split;       // of `project`
  Tasks<V> project, own, others;

 private:
  void add_strips(Rank& rank, const ClusterTree& tree, const Terms<V>& terms, const RowSet& rows, i32 first, Tasks<V>& to) {
    const StripPanels<V> strips(tree, terms, rows, first, threads_);
    i64 read = 0;
    for (const Panel& p : strips.panels) read += p.columns;
    store(rank, strips, double(std::min<i64>(read, operands)) + rows.size(), to);
  }

  template <class P>
  void store(Rank& rank, const P& panels, double rows, Tasks<V>& to) {
    to.space = add_space(rank, i32(panels.tasks.size()));
    to.count = panels.values;
    to.rows = rows;
    V* values = memory_.reserve<V>(panels.values);
    MadeArray made{{}, [&](i64 panel, void* at) { panels.fill(i32(panel), static_cast<V*>(at)); }};
    for (const Panel& p : panels.panels) made.begins.push_back(p.values * i64(sizeof(V)));
    made.begins.push_back(panels.values * i64(sizeof(V)));
    rank.engine().upload_made(rank, values, made, threads_);
    to.values = values;
    to.tasks = memory_.uploaded(panels.tasks);
    to.panels = memory_.uploaded(panels.panels);
    to.runs = memory_.uploaded(panels.runs);
    to.results = panels.results.empty() ? nullptr : memory_.uploaded(panels.results);
  }

  EngineMemory memory_;
  int threads_;  // of this rank, while others make theirs
};

/// Rows of values are `words` rows of vectors each.
template <class V, int C>
class PanelProduct final : public Product {
 public:
  PanelProduct(Rank& rank, std::shared_ptr<const Tables<V>> tables)
      : tables_(std::move(tables)), z_(rank.vector("x and terms", add_space(rank, words * tables_->operands))) {}

  void project(Rank& rank, Vec x) const override {
    const Tasks<V>& of = tables_->project;
    rank.run_split_over(of.space, panels<Access::ghost>(of, x, z_), tables_->split);
  }
  void add_up(Rank& rank, Vec y, const StartDots& epilogue) const override {
    rank.run_over(tables_->own.space, panels<Access::read>(tables_->own, z_, y));
    record_dots(rank, epilogue);
  }
  void add_up_others(Rank& rank, Vec others) const override {
    rank.run_over(tables_->others.space, panels<Access::read>(tables_->others, z_, others));
  }
  std::unique_ptr<Product> of_columns(Rank& rank, int columns) const override { return with(rank, tables_, columns); }
  int most_columns() const override { return countable_columns(tables_->operands, words_of<V>); }
  i64 bytes() const override { return tables_->bytes(); }

  static std::unique_ptr<Product> with(Rank& rank, std::shared_ptr<const Tables<V>> tables, int columns) {
    return with_columns(columns, [&]<int c>(std::integral_constant<int, c>) -> std::unique_ptr<Product> {
      return std::make_unique<PanelProduct<V, c>>(rank, std::move(tables));
    });
  }

 private:
  static constexpr i32 words = words_of<RowOf<V, C>>;

  template <Access how>
  static PanelRows<how, V, C> panels(const Tasks<V>& of, Vec from, Vec to) {
    PanelRows<how, V, C> f = {};
    f.tasks = of.tasks;
    f.panels = of.panels;
    f.runs = of.runs;
    f.results = of.results;
    f.values = of.values;
    f.work = {8.0 * words_of<V> * (double(of.count) + C * of.rows), 2.0 * words_of<V> * words * double(of.count)};
    f.operand = from;
    f.result = to;
    return f;
  }

  std::shared_ptr<const Tables<V>> tables_;
  Vec z_;
};

}  // namespace

template <class V>
std::unique_ptr<Product> panel_product(Rank& rank, const Layout<V>& layout) {
  return PanelProduct<V, 1>::with(rank, std::make_shared<const Tables<V>>(rank, layout), 1);
}

template std::unique_ptr<Product> panel_product(Rank&, const Layout<double>&);
template std::unique_ptr<Product> panel_product(Rank&, const Layout<Number>&);

}  // namespace sordino::hmatrix
