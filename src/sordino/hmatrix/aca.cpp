#include "sordino/hmatrix/aca.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i32 none = -1;

template <class V>
double norm(const std::vector<V>& v) {
  double sum = 0;
  for (V x : v) sum += squared(x);
  return std::sqrt(sum);
}

template <class V>
void require_finite(const std::vector<V>& values) {
  if (!std::isfinite(norm(values))) bad_argument("the matrix has an entry that is not finite, or too large for its square");
}

/// One side of a block, rows or columns: which of them have been pivots.
class Unused {
 public:
  explicit Unused(i32 n) : free_(std::size_t(n), 1), left_(n) {}
  bool is(i32 i) const { return free_[std::size_t(i)]; }
  i32 left() const { return left_; }
  void use(i32 i) {
    left_ -= free_[std::size_t(i)];
    free_[std::size_t(i)] = 0;
  }
  /// The first one from `from`, going round; -1 if there is none.
  i32 next(i32 from) const {
    const i32 n = i32(free_.size());
    for (i32 k = 0; k < n; k++)
      if (is((from + k) % n)) return (from + k) % n;
    return none;
  }
  /// Where |values| is largest, or smallest.
  template <class V>
  i32 largest(const std::vector<V>& values) const {
    return best(values, std::greater<>());
  }
  template <class V>
  i32 smallest(const std::vector<V>& values) const {
    return best(values, std::less<>());
  }

 private:
  template <class V, class Before>
  i32 best(const std::vector<V>& values, Before before) const {
    i32 found = none;
    for (i32 i = 0; i < i32(free_.size()); i++)
      if (is(i) && (found == none || before(magnitude(values[std::size_t(i)]), magnitude(values[std::size_t(found)]))))
        found = i;
    return found;
  }

  std::vector<char> free_;
  i32 left_;
};

/// What both kinds do: residuals, pivots, the sum and its end.
template <class V>
class Cross {
 public:
  using Values = std::vector<V>;
  Cross(const Section<V>& block, const CrossOptions& options, Crosses<V> begun)
      : rows(block.height()),
        columns(block.width()),
        sum(std::move(begun.sum)),
        block_(block),
        pivot_rows_(std::move(begun.rows)),
        pivot_columns_(std::move(begun.columns)),
        eps_(options.eps),
        most_rank_(std::min({options.most_rank, block.height(), block.width()})) {
    if (sum.rank == 0) sum = LowRank<V>(block.height(), block.width());
    for (i32 i : pivot_rows_) rows.use(i);
    for (i32 j : pivot_columns_) columns.use(j);
    if (sum.rank > 0)
      first_ = norm(Values(sum.u_of(0), sum.u_of(0) + sum.height)) * norm(Values(sum.v_of(0), sum.v_of(0) + sum.width));
  }

  // Where crosses have gone nothing is left but rounding, which a small pivot would make large.
  Values residual_row(i32 i) const {
    Values row(std::size_t(block_.width()));
    block_.row(i, row.data());
    sum.subtract_row(i, row.data());
    require_finite(row);
    for (i32 j : pivot_columns_) row[std::size_t(j)] = V{};
    return row;
  }
  Values residual_column(i32 j) const {
    Values column(std::size_t(block_.height()));
    block_.column(j, column.data());
    sum.subtract_column(j, column.data());
    require_finite(column);
    for (i32 i : pivot_rows_) column[std::size_t(i)] = V{};
    return column;
  }
  /// Whether column row^T / pivot, of residuals that cross there, is small beside the first term, which it may be.
  bool is_small(const Values& column, const Values& row, V pivot) {
    const double size = norm(column) * norm(row) / magnitude(pivot);
    if (sum.rank == 0) first_ = size;
    return size < eps_ * first_;
  }
  /// The cross of residuals at (i, j).
  void append(i32 i, i32 j, Values column, const Values& row) {
    const V pivot = row[std::size_t(j)];
    for (V& x : column) x = quotient(x, pivot);
    pivot_rows_.resize(std::size_t(sum.rank) + 1);
    pivot_columns_.resize(pivot_rows_.size());
    insert(pivot_rows_.data(), sum.rank, i);
    insert(pivot_columns_.data(), sum.rank, j);
    sum.append(column, row);
  }
  Crosses<V> take() { return {std::move(sum), std::move(pivot_rows_), std::move(pivot_columns_)}; }
  /// Whether a vector of residuals is small beside the first term.
  bool is_small(const Values& residual) const { return norm(residual) < eps_ * first_; }
  /// No more pivots, or as many terms as the block may have.
  bool full() const { return rows.left() == 0 || columns.left() == 0 || sum.rank >= most_rank_; }

  Unused rows, columns;
  LowRank<V> sum;

 private:
  const Section<V>& block_;
  std::vector<i32> pivot_rows_, pivot_columns_;  // of terms, which increase
  double eps_, first_ = 0;
  i32 most_rank_;
};

}  // namespace

template <class V>
Crosses<V> aca(const Section<V>& block, const CrossOptions& options, Crosses<V> begun) {
  Cross<V> c(block, options, std::move(begun));
  i32 i = std::max(options.first_row, 0);
  while (i != none && !c.full()) {
    const std::vector<V> row = c.residual_row(i);
    c.rows.use(i);
    const i32 j = c.columns.largest(row);
    const V pivot = row[std::size_t(j)];
    if (magnitude(pivot) == 0) {
      i = c.rows.next(i);
      continue;
    }
    const std::vector<V> column = c.residual_column(j);
    c.columns.use(j);
    const i32 next = c.is_small(column, row, pivot) ? none : c.rows.largest(column);
    c.append(i, j, column, row);
    i = next;
  }
  return c.take();
}

namespace {

/// The row and the column of reference, as residuals of the sum so far.
template <class V>
struct References {
  i32 i = none, j = none;
  std::vector<V> row, column;

  /// A column that is no pivot, and of the rows that are none that where it is smallest.
  void take(const Cross<V>& c, i32 from) {
    j = c.columns.next(from);
    if (j == none) return;
    column = c.residual_column(j);
    i = c.rows.smallest(column);
    if (i != none) row = c.residual_row(i);
  }
  /// This row, and the column where it is smallest.
  void take_row(const Cross<V>& c, i32 first) {
    i = first;
    row = c.residual_row(i);
    j = c.columns.smallest(row);
    if (j != none) column = c.residual_column(j);
  }
  bool there() const { return i != none && j != none; }
  /// After a term was added.
  void follow(const LowRank<V>& sum) {
    const V *u = sum.u_of(sum.rank - 1), *v = sum.v_of(sum.rank - 1);
    for (i32 k = 0; k < sum.width; k++) row[std::size_t(k)] = row[std::size_t(k)] - u[i] * v[k];
    for (i32 k = 0; k < sum.height; k++) column[std::size_t(k)] = column[std::size_t(k)] - u[k] * v[j];
  }
};

}  // namespace

template <class V>
Crosses<V> aca_plus(const Section<V>& block, const CrossOptions& options, Crosses<V> begun) {
  Cross<V> c(block, options, std::move(begun));
  References<V> reference;
  options.first_row < 0 ? reference.take(c, 0) : reference.take_row(c, options.first_row);
  while (reference.there() && !c.full()) {
    i32 i = c.rows.largest(reference.column), j = c.columns.largest(reference.row);
    std::vector<V> row, column;
    if (magnitude(reference.column[std::size_t(i)]) > magnitude(reference.row[std::size_t(j)])) {
      row = c.residual_row(i);
      j = c.columns.largest(row);
      column = c.residual_column(j);
    } else {
      column = c.residual_column(j);
      i = c.rows.largest(column);
      row = c.residual_row(i);
    }
    const V pivot = row[std::size_t(j)];
    if (magnitude(pivot) == 0) {  // both references vanish
      if (c.sum.rank > 0) break;
      i = reference.i;
      j = reference.j;
    } else {
      if (c.is_small(column, row, pivot) && c.is_small(reference.row) && c.is_small(reference.column)) break;
      c.append(i, j, std::move(column), row);
      reference.follow(c.sum);
    }
    c.rows.use(i);
    c.columns.use(j);
    if (!c.rows.is(reference.i) || !c.columns.is(reference.j)) reference.take(c, (reference.j + 1) % block.width());
  }
  return c.take();
}

template Crosses<double> aca(const Section<double>&, const CrossOptions&, Crosses<double>);
template Crosses<Number> aca(const Section<Number>&, const CrossOptions&, Crosses<Number>);
template Crosses<double> aca_plus(const Section<double>&, const CrossOptions&, Crosses<double>);
template Crosses<Number> aca_plus(const Section<Number>&, const CrossOptions&, Crosses<Number>);

}  // namespace sordino::hmatrix
