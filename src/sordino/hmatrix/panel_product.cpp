#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/hmatrix/panels.hpp"
#include "sordino/hmatrix/product.hpp"
#include "sordino/linalg/epilogue.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 staged_bytes = i64(96) << 20;  // on their way to the device at a time, unless a panel has more

/// Rows of values are `words` rows of vectors each.
template <class V>
class PanelProduct final : public Product {
 public:
  PanelProduct(Rank& rank, const Layout<V>& of) : memory_(rank) {
    const i32 n = of.share.columns.size();
    const Terms<V> terms(of.share);
    const TermPanels<V> project(terms, of.x, of.at_hand);
    const double of_z = n + double(terms.count);
    z_ = rank.vector("x and terms", add_space(rank, words * (n + terms.count)));
    store(rank, project, n + of_z, project_);
    split_ = {{{0, project.early}}, {{project.early, i32(project.tasks.size())}}};
    if (split_.rest[0].size() == 0) split_.rest.clear();
    add_strips(rank, of.tree, terms, RowSet(of.own), of.first, own_);
    if (const RowSet others = of.share.rows.without(of.own); others.size() > 0)
      add_strips(rank, of.tree, terms, others, 0, others_);
  }

  void project(Rank& rank, Vec x) const override {
    auto project = project_.rows;
    project.operand = x;
    project.result = z_;
    rank.run_split_over(project_.space, project, split_);
  }
  void add_up(Rank& rank, Vec y, const StartDots& epilogue) const override {
    add_up(rank, own_, y);
    record_dots(rank, epilogue);
  }
  void add_up_others(Rank& rank, Vec others) const override { add_up(rank, others_, others); }

  i64 bytes() const override { return memory_.bytes(); }

 private:
  static constexpr i32 words = words_of<V>;
  /// A command: its rows, which are tasks, and their space.
  template <Access how>
  struct Tasks {
    PanelRows<how, V> rows = {};
    int space = -1;
  };

  void add_up(Rank& rank, const Tasks<Access::read>& tasks, Vec y) const {
    auto strips = tasks.rows;
    strips.operand = z_;
    strips.result = y;
    rank.run_over(tasks.space, strips);
  }
  void add_strips(Rank& rank, const ClusterTree& tree, const Terms<V>& terms, const RowSet& rows, i32 first,
                  Tasks<Access::read>& to) {
    const StripPanels<V> strips(tree, terms, rows, first);
    i64 operands = 0;
    for (const Panel& p : strips.panels) operands += p.columns;
    store(rank, strips, double(std::min(operands, terms.columns.size() + i64(terms.count))) + rows.size(), to);
  }

  /// Of a command that reads so many values, and so many rows of vectors.
  static Cost cost_of(i64 values, double rows) {
    return {8.0 * words * (double(values) + rows), 2.0 * words * words * double(values)};
  }
  static int add_space(Rank& rank, i32 rows) {
    Space s;
    s.n_global = s.rows = rows;
    set_tiles(s, {0, rows});
    return rank.add_space(std::move(s));
  }

  template <class P, Access how>
  void store(Rank& rank, const P& panels, double rows, Tasks<how>& to) {
    to.space = add_space(rank, i32(panels.tasks.size()));
    PanelRows<how, V>& f = to.rows;
    f.work = cost_of(panels.values, rows);
    V* values = memory_.reserve<V>(panels.values);
    const i32 count = i32(panels.panels.size());
    auto begin_of = [&](i32 p) { return p < count ? panels.panels[std::size_t(p)].values : panels.values; };
    std::vector<V> staged;
    for (i32 begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && (begin_of(end + 1) - begin_of(begin)) * i64(sizeof(V)) <= staged_bytes;) end++;
      staged.resize(std::size_t(begin_of(end) - begin_of(begin)));
      auto some = [&](i64 first, i64 last) {
        for (i64 p = first; p < last; p++) panels.fill(i32(p), staged.data() + (begin_of(i32(p)) - begin_of(begin)));
      };
      for_parts(begin, end, some, 16);
      rank.engine().upload(rank, values + begin_of(begin), staged.data(), staged.size() * sizeof(V));
    }
    f.values = values;
    f.tasks = memory_.uploaded(panels.tasks);
    f.panels = memory_.uploaded(panels.panels);
    f.runs = memory_.uploaded(panels.runs);
    f.results = panels.results.empty() ? nullptr : memory_.uploaded(panels.results);
  }

  EngineMemory memory_;
  Vec z_;
  Split split_;
  Tasks<Access::ghost> project_;
  Tasks<Access::read> own_, others_;
};

}  // namespace

template <class V>
std::unique_ptr<Product> panel_product(Rank& rank, const Layout<V>& layout) {
  return std::make_unique<PanelProduct<V>>(rank, layout);
}

template std::unique_ptr<Product> panel_product(Rank&, const Layout<double>&);
template std::unique_ptr<Product> panel_product(Rank&, const Layout<Number>&);

void* EngineMemory::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  pieces_.emplace_back(rank_.engine().allocate_bytes(rank_, bytes), bytes);
  bytes_ += i64(bytes);
  return pieces_.back().first;
}

EngineMemory::~EngineMemory() {
  for (auto [pointer, bytes] : pieces_) rank_.engine().release_bytes(rank_, pointer, bytes);
}

}  // namespace sordino::hmatrix
