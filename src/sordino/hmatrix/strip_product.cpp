#include "sordino/hmatrix/product.hpp"
#include "sordino/hmatrix/strips.hpp"

namespace sordino::hmatrix {
namespace {

/// Of any number of columns.
template <class V>
struct Tables {
  explicit Tables(const Layout<V>& of)
      : terms(of.share, of.at_hand),
        own(of.tree, of.share, terms, RowSet(of.own)),
        others(of.tree, of.share, terms, of.share.rows.without(of.own)),
        columns(of.share.columns.size()),
        first(of.first),
        places(of.x) {
    const i32 begin = of.share.columns.number(of.at_hand.begin);
    at_hand = {begin, begin + of.at_hand.size()};
  }
  i64 bytes() const {
    auto bytes_of = [](const auto& table) { return i64(table.size() * sizeof(table[0])); };
    auto all_of = [&](const StripTable<V>& t) { return bytes_of(t.strips) + bytes_of(t.strip_of) + bytes_of(t.pieces); };
    return bytes_of(terms.pieces) + all_of(own) + all_of(others);
  }
  i32 operands() const { return columns + i32(terms.pieces.size()); }

  TermTable<V> terms;
  StripTable<V> own, others;
  i32 columns, first;
  Places places;
  RowRange at_hand;  // columns
};

/// Rows of values are `words` rows of vectors each.
template <class V, int C>
class StripProduct final : public Product {
 public:
  StripProduct(Rank& rank, std::shared_ptr<const Tables<V>> tables) : tables_(std::move(tables)) {
    rows_.first = {{words * tables_->first, words * (tables_->first + i32(tables_->own.strip_of.size()))}};
    add_operands(rank, tables_->at_hand);
  }

  void project(Rank& rank, Vec x) const override {
    Projections<V, C> project;
    project.pieces = tables_->terms.pieces.data();
    project.n = tables_->columns;
    project.places = tables_->places;
    project.values = tables_->terms.values;
    project.x = x;
    project.y = z_;
    rank.apply_rows(project, &split_, z_, {});
  }
  void add_up(Rank& rank, Vec y, const StartDots& epilogue) const override {
    rank.apply_rows(rows_of(tables_->own, tables_->first, y), &rows_, y, epilogue);
  }
  void add_up_others(Rank& rank, Vec others) const override {
    rank.apply_rows(rows_of(tables_->others, 0, others), nullptr, others, {});
  }
  std::unique_ptr<Product> of_columns(Rank& rank, int columns) const override { return with(rank, tables_, columns); }
  int most_columns() const override { return countable_columns(tables_->operands(), words_of<V>); }
  i64 bytes() const override { return tables_->bytes(); }

  static std::unique_ptr<Product> with(Rank& rank, std::shared_ptr<const Tables<V>> tables, int columns) {
    return with_columns(columns, [&]<int c>(std::integral_constant<int, c>) -> std::unique_ptr<Product> {
      return std::make_unique<StripProduct<V, c>>(rank, std::move(tables));
    });
  }

 private:
  static constexpr i32 words = words_of<RowOf<V, C>>;

  StripRows<V, C> rows_of(const StripTable<V>& table, i32 first, Vec y) const {
    StripRows<V, C> strips;
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
    const i32 n = tables_->columns, all = tables_->operands(), own_terms = n + tables_->terms.own;
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

  std::shared_ptr<const Tables<V>> tables_;
  Split rows_, split_;  // of the result, and of z
  Vec z_;
};

}  // namespace

template <class V>
std::unique_ptr<Product> strip_product(Rank& rank, const Layout<V>& layout) {
  return StripProduct<V, 1>::with(rank, std::make_shared<const Tables<V>>(layout), 1);
}

template std::unique_ptr<Product> strip_product(Rank&, const Layout<double>&);
template std::unique_ptr<Product> strip_product(Rank&, const Layout<Number>&);

}  // namespace sordino::hmatrix
