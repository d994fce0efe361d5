#include "sordino/hmatrix/product.hpp"
#include "sordino/hmatrix/strips.hpp"

namespace sordino::hmatrix {
namespace {

/// Rows of values are `words` rows of vectors each.
template <class V>
class StripProduct final : public Product {
 public:
  StripProduct(Rank& rank, const HMatrixOf<V>& matrix, const Layout& layout) : strips_(matrix, layout.rows) {
    const i32 n = i32(matrix.size()), first = layout.first;
    projections_.pieces = strips_.projections.data();
    projections_.n = n;
    projections_.places = layout.x;
    projections_.values = strips_.projected_values;
    strip_rows_.strips = strips_.strips.data();
    strip_rows_.strip_of = strips_.strip_of.data();
    strip_rows_.pieces = strips_.pieces.data();
    strip_rows_.begin = layout.rows.begin;
    strip_rows_.first = first;
    strip_rows_.values = strips_.strip_values;
    strip_rows_.operands = n + i64(strips_.projections.size());
    rows_.first = {{words * first, words * (first + layout.rows.size())}};
    add_operands(rank, n, layout.at_hand);
  }

  void record(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const override {
    Projections<V> project = projections_;
    project.x = x;
    project.y = z_;
    rank.apply_rows(project, &split_, z_, {});
    StripRows<V> strips = strip_rows_;
    strips.x = z_;
    strips.y = y;
    rank.apply_rows(strips, &rows_, y, epilogue);
  }

  i64 bytes() const override {
    auto bytes_of = [](const auto& table) { return i64(table.size() * sizeof(table[0])); };
    return bytes_of(strips_.projections) + bytes_of(strips_.strips) + bytes_of(strips_.strip_of) + bytes_of(strips_.pieces);
  }

 private:
  static constexpr i32 words = words_of<V>;

  /// Rows of x that are at hand, and terms that need no others, need nothing of what is under way.
  void add_operands(Rank& rank, i32 n, RowRange own) {
    const bool all_at_hand = own.size() == n;
    const i32 all = n + i32(strips_.projections.size()), own_terms = all_at_hand ? all : n + strips_.own;
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

  StripsOf<V> strips_;
  Split rows_, split_;  // of the result, and of z
  Vec z_;
  Projections<V> projections_ = {};
  StripRows<V> strip_rows_ = {};
};

}  // namespace

template <class V>
std::unique_ptr<Product> strip_product(Rank& rank, const HMatrixOf<V>& matrix, const Layout& layout) {
  return std::make_unique<StripProduct<V>>(rank, matrix, layout);
}

template std::unique_ptr<Product> strip_product(Rank&, const HMatrixOf<double>&, const Layout&);
template std::unique_ptr<Product> strip_product(Rank&, const HMatrixOf<Number>&, const Layout&);

}  // namespace sordino::hmatrix
