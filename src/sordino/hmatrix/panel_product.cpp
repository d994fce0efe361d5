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
  PanelProduct(Rank& rank, const HMatrixOf<V>& matrix, const Layout& layout) : memory_(rank) {
    const i32 n = i32(matrix.size());
    const Terms<V> terms(matrix, layout.rows);
    const TermPanels<V> project(terms, n, layout.x, layout.at_hand);
    const StripPanels<V> strips(matrix, terms, layout.rows, layout.first);
    z_ = rank.vector("x and terms", add_space(rank, words * (n + terms.count)));
    store(rank, project, project_);
    store(rank, strips, strips_);
    project_space_ = add_space(rank, i32(project.tasks.size()));
    strip_space_ = add_space(rank, i32(strips.tasks.size()));
    split_ = {{{0, project.early}}, {{project.early, i32(project.tasks.size())}}};
    if (split_.rest[0].size() == 0) split_.rest.clear();
    const double of_z = n + double(terms.count);
    project_.work = cost_of(project.values, n + of_z);
    strips_.work = cost_of(strips.values, of_z + layout.rows.size());
  }

  void record(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const override {
    auto project = project_;
    project.operand = x;
    project.result = z_;
    rank.run_split_over(project_space_, project, split_);
    auto strips = strips_;
    strips.operand = z_;
    strips.result = y;
    rank.run_over(strip_space_, strips);
    record_dots(rank, epilogue);
  }

  i64 bytes() const override { return memory_.bytes(); }

 private:
  static constexpr i32 words = words_of<V>;

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

  template <class P, class Functor>
  void store(Rank& rank, const P& panels, Functor& f) {
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
  int project_space_ = -1, strip_space_ = -1;
  Split split_;
  PanelRows<Access::ghost, V> project_ = {};
  PanelRows<Access::read, V> strips_ = {};
};

}  // namespace

template <class V>
std::unique_ptr<Product> panel_product(Rank& rank, const HMatrixOf<V>& matrix, const Layout& layout) {
  return std::make_unique<PanelProduct<V>>(rank, matrix, layout);
}

template std::unique_ptr<Product> panel_product(Rank&, const HMatrixOf<double>&, const Layout&);
template std::unique_ptr<Product> panel_product(Rank&, const HMatrixOf<Number>&, const Layout&);

void* EngineMemory::take(std::size_t bytes) {
  pieces_.emplace_back(rank_.engine().allocate_bytes(rank_, bytes), bytes);
  bytes_ += i64(bytes);
  return pieces_.back().first;
}

EngineMemory::~EngineMemory() {
  for (auto [pointer, bytes] : pieces_) rank_.engine().release_bytes(rank_, pointer, bytes);
}

}  // namespace sordino::hmatrix
