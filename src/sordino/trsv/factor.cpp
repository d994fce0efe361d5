#include "sordino/trsv/factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/trsv/inverse.hpp"
#include "sordino/trsv/saved_plans.hpp"

namespace sordino::trsv {
namespace {

/// Rows of L become those of L X, for a lower triangle X.
template <class V>
void multiply(V* L, const V* X, i64 lead, i64 w, i64 rows) {
  constexpr i64 some = 64;
  for (i64 first = 0; first < rows; first += some) {
    const i64 count = std::min(some, rows - first);
    for (i64 j = 0; j < w; j++) {
      V sums[some] = {};
      for (i64 k = j; k < w; k++) add_multiple(X[j * lead + k], L + k * lead + first, sums, count);
      std::copy_n(sums, count, L + j * lead + first);
    }
  }
}

}  // namespace

/// What a thread needs to fill blocks one after the other.
template <class V>
class Factor<V>::Filling {
 public:
  explicit Filling(Factor& factor) : f_(factor), row_of_(std::size_t(factor.blocks_.n)) {}

  void fill(const TriangleView<V>& L, const Block& b) {
    const i64 lead = b.front, w = b.width;
    front_.assign(std::size_t(lead * w), V{});
    below_.resize(std::size_t(w));
    take(L, b);
    begin_growth(lead, w, L.unit);
    invert(front_.data(), lead, w, L.unit, below_.data());
    end_growth(lead, w);
    multiply(front_.data() + w, front_.data(), lead, w, lead - w);
    store(b);
  }

 private:
  void take(const TriangleView<V>& L, const Block& b) {
    const LowerPattern& p = L.pattern;
    for (i32 i = 0; i < b.front; i++) row_of_[std::size_t(f_.blocks_.rows[std::size_t(b.rows + i)])] = i;
    for (i64 c = 0; c < b.width; c++) {
      const i64 j = f_.blocks_.order[std::size_t(b.column + c)];
      for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++)
        front_[std::size_t(c * b.front + row_of_[std::size_t(f_.place_[std::size_t(p.rows[k])])])] = L.values[k];
    }
  }

  static std::size_t at(i64 k) { return std::size_t(k); }

  /// Before D is inverted: sizes of its entries, and sums of the panel's sizes by rows and by columns.
  void begin_growth(i64 lead, i64 w, bool unit) {
    sizes_.resize(at(w * w));
    of_row_.assign(at(lead), 0.0), of_column_.assign(at(w), 0.0);
    for (i64 j = 0; j < w; j++) {
      const V* column = front_.data() + j * lead;
      double sum = 0;
      for (i64 i = j; i < w; i++) {
        const double size = unit && i == j ? 1.0 : size_of(column[i]);
        sizes_[at(j * w + i)] = size, of_row_[at(i)] += size, sum += size;
      }
      for (i64 i = w; i < lead; i++) of_row_[at(i)] += size_of(column[i]), sum += size_of(column[i]);
      of_column_[at(j)] = sum;
    }
  }
  /// Behind it, and before the rows below are multiplied. Where sums overflow, growth is infinite.
  void end_growth(i64 lead, i64 w) {
    x_.assign(at(w), 0.0), back_.assign(at(w), 0.0), found_.assign(at(lead), 0.0);
    for (i64 j = 0; j < w; j++)
      for (i64 i = j; i < w; i++) {
        const double size = size_of(front_[at(j * lead + i)]);
        x_[at(i)] += size * of_row_[at(j)], back_[at(j)] += size * of_column_[at(i)];
      }
    for (i64 j = 0; j < w; j++) {
      double sum = 0;
      for (i64 i = j; i < w; i++)
        sum += sizes_[at(j * w + i)] * back_[at(i)], found_[at(i)] += sizes_[at(j * w + i)] * x_[at(j)];
      note_growth(sum, of_column_[at(j)]);
      for (i64 i = w; i < lead; i++) found_[at(i)] += size_of(front_[at(j * lead + i)]) * x_[at(j)];
    }
    for (i64 i = 0; i < lead; i++) note_growth(found_[at(i)], of_row_[at(i)]);
  }
  void note_growth(double sum, double of) {
    if (of > 0 && !(sum / of <= growth)) growth = std::isnan(sum / of) ? std::numeric_limits<double>::infinity() : sum / of;
  }
  /// At most 1.5 times as large as a complex number.
  static double size_of(V a) {
    if constexpr (std::is_same_v<V, Number>)
      return std::fabs(a.re) + std::fabs(a.im);
    else
      return std::fabs(double(a));
  }

  void store(const Block& b) {
    for (i32 k = 0; k < b.strips(); k++) {
      const Strip s = strip_of(b, k);
      V* to = f_.values_.data() + f_.blocks_.strips[std::size_t(b.strip + k)];
      for (i64 j = 0; j < s.columns; j++, to += s.lead) {
        std::copy_n(front_.data() + j * b.front + s.first, s.rows, to);
        std::fill(to + s.rows, to + s.lead, V{});
      }
    }
  }

  Factor& f_;
  std::vector<i32> row_of_;  // [n] in the block's front
  std::vector<V> front_, below_;
  std::vector<double> sizes_, of_row_, of_column_, x_, back_, found_;

 public:
  double growth = 1;  // of all blocks so far
};

template <class V>
Factor<V>::Factor(const TriangleView<V>& L, const FactorOptions& options) : unit_(L.unit), threads_(options.threads) {
  if (!options.is_valid) validate(L, threads_);
  const double start = seconds_now();
  if (options.nodes) check_supernodes(L.pattern, *options.nodes);
  const Supernodes found = options.nodes         ? Supernodes{}
                           : options.elimination ? find_supernodes(L.pattern, *options.elimination, options.merging)
                                                 : find_supernodes(L.pattern, options.merging);
  const Supernodes& nodes = options.nodes ? *options.nodes : found;
  blocks_ = cut(nodes, options.choose_width ? options.choose_width(nodes) : options.width, options.part_values);
  symbolic_seconds_ = seconds_now() - start;
  print_ = options.print ? options.print : print_of(L.pattern, threads_);
  place_.resize(blocks_.order.size());
  for (std::size_t k = 0; k < place_.size(); k++) place_[std::size_t(blocks_.order[k])] = i32(k);
  values_ = LargeArray<V>(std::size_t(blocks_.values));
  fill(L);
}

template <class V>
void Factor<V>::update(const TriangleView<V>& L) {
  check_update(L);
  fill(L);
}

template <class V>
void Factor<V>::check_update(const TriangleView<V>& L) const {
  validate(L, threads_);
  if (L.unit != unit_ || print_of(L.pattern, threads_) != print_)
    bad_argument("new values of a triangle must have its pattern, and this is another one");
}

template <class V>
void Factor<V>::fill(const TriangleView<V>& L) {
  std::vector<std::unique_ptr<Filling>> fillings(std::size_t(thread_count(threads_)));
  deal_out(blocks_.count(), 1, threads_, [&](i64 begin, i64 end, int thread) {
    auto& filling = fillings[std::size_t(thread)];
    if (!filling) filling = std::make_unique<Filling>(*this);
    for (i64 k = begin; k < end; k++)
      filling->fill(L, blocks_.blocks[std::size_t(blocks_.count() - 1 - k)]);  // large ones first
  });
  growth_ = 1;
  for (const auto& filling : fillings)
    if (filling) growth_ = std::max(growth_, filling->growth);
}

template class Factor<float>;
template class Factor<double>;
template class Factor<Number>;

}  // namespace sordino::trsv
