#include "sordino/hmatrix/product.hpp"
#include "sordino/hmatrix/strips.hpp"

namespace sordino::hmatrix {
namespace {

/// Rows of values are `words` rows of vectors each.
template <class V>
class StripProduct final : public Product {
 public:
  StripProduct(Rank& rank, const Layout<V>& of)
      : terms_(of.share, of.at_hand),
        own_(of.tree, of.share, terms_, RowSet(of.own)),
        others_(of.tree, of.share, terms_, of.share.rows.without(of.own)),
        columns_(of.share.columns.size()),
        first_(of.first) {
    projections_.pieces = terms_.pieces.data();
    projections_.n = columns_;
    projections_.places = of.x;
    projections_.values = terms_.values;
    rows_.first = {{words * first_, words * (first_ + of.own.size())}};
    const i32 first = of.share.columns.number(of.at_hand.begin);
    add_operands(rank, {first, first + of.at_hand.size()});
  }

  void project(Rank& rank, Vec x) const override {
    Projections<V> project = projections_;
    project.x = x;
    project.y = z_;
    rank.apply_rows(project, &split_, z_, {});
  }
  void add_up(Rank& rank, Vec y, const StartDots& epilogue) const override {
    rank.apply_rows(rows_of(own_, first_, y), &rows_, y, epilogue);
  }
  void add_up_others(Rank& rank, Vec others) const override {
    rank.apply_rows(rows_of(others_, 0, others), nullptr, others, {});
  }

  i64 bytes() const override {
    auto bytes_of = [](const auto& table) { return i64(table.size() * sizeof(table[0])); };
    auto all_of = [&](const StripTable<V>& t) { return bytes_of(t.strips) + bytes_of(t.strip_of) + bytes_of(t.pieces); };
    return bytes_of(terms_.pieces) + all_of(own_) + all_of(others_);
  }

 private:
  static constexpr i32 words = words_of<V>;

  StripRows<V> rows_of(const StripTable<V>& table, i32 first, Vec y) const {
    StripRows<V> strips;
    strips.strips = table.strips.data();
    strips.strip_of = table.strip_of.data();
    strips.pieces = table.pieces.data();
    strips.first = first;
    strips.values = table.values;
    strips.operands = table.operands;
    strips.x = z_;
    strips.y = y;
    return strips;
  }

  /// Columns of x that are at hand, and terms that need no others, need nothing of what is under way.
  void add_operands(Rank& rank, RowRange own) {
    const i32 n = columns_, all = n + i32(terms_.pieces.size()), own_terms = n + terms_.own;
    Space z;
    z.n_global = z.rows = words * all;
    std::vector<i32> blocks{0};
    for (i32 end : {own.begin, own.end, n, own_terms, all})
      if (words * end > blocks.back()) blocks.push_back(words * end);
    z.n_blocks = i32(blocks.size()) - 1;
    set_tiles(z, blocks);
    auto add = [](std::vector<RowRange>& ranges, i32 begin, i32 end) {
      if (end > begin) ranges.push_back({words * begin, words * end});
    };
    add(split_.first, own.begin, own.end);
    add(split_.first, n, own_terms);
    add(split_.rest, 0, own.begin);
    add(split_.rest, own.end, n);
    add(split_.rest, own_terms, all);
    z_ = rank.vector("x and terms", rank.add_space(std::move(z)));
  }

  TermTable<V> terms_;
  StripTable<V> own_, others_;
  i32 columns_, first_;
  Split rows_, split_;  // of the result, and of z
  Vec z_;
  Projections<V> projections_ = {};
};

}  // namespace

template <class V>
std::unique_ptr<Product> strip_product(Rank& rank, const Layout<V>& layout) {
  return std::make_unique<StripProduct<V>>(rank, layout);
}

template std::unique_ptr<Product> strip_product(Rank&, const Layout<double>&);
template std::unique_ptr<Product> strip_product(Rank&, const Layout<Number>&);

}  // namespace sordino::hmatrix
