// Adaptive cross approximation with references, as a team of threads computes it: aca_plus() of aca.hpp, step by step, in
// memory of fixed size.
#pragma once
#include "sordino/hmatrix/comparison.hpp"
#include "sordino/hmatrix/leaf_space.hpp"

namespace sordino::hmatrix {

/// Block: entry(i, j) of it, rows and columns counted from 0.
template <class Team, class Block, class V>
class TeamCrosses {
 public:
  enum class End { enough, no_room, broken };  // broken: by entries that are not finite

  SORDINO_HD TeamCrosses(const Team& team, const Block& block, const LeafSpace<V>& space, i32 most_rank)
      : team_(team), block_(block), s_(space), most_rank_(most_rank) {}

  i32 rank = 0;

  /// Appends terms until the stop rule holds with eps; first_row: begin with this one as row of reference; -1: with any.
  [[gnu::noinline]] SORDINO_HD End run(double eps, i32 first_row) {
    eps_ = eps;
    rows_left_ = s_.height - rank, columns_left_ = s_.width - rank;
    team_.each(s_.height, [&](i32 i) { s_.row_is_pivot[i] = 0; });
    team_.each(s_.width, [&](i32 j) { s_.column_is_pivot[j] = 0; });
    team_.each(rank, [&](i32 k) { s_.row_is_pivot[s_.pivot_rows[k]] = s_.column_is_pivot[s_.pivot_columns[k]] = 1; });
    first_row < 0 ? see(0) : see_row(first_row);
    while (row_seen_ >= 0 && column_seen_ >= 0 && !full()) {
      i32 i = -1, j = -1;
      if (!choose(i, j)) return End::broken;
      const V pivot = s_.row[j];
      if (magnitude(pivot) == 0) {  // both references vanish
        if (rank > 0) break;
        i = row_seen_, j = column_seen_;
      } else {
        if (is_small(pivot) && is_small(s_.row_seen, s_.width) && is_small(s_.column_seen, s_.height)) break;
        if (rank == s_.terms) return End::no_room;
        append(i, j);
      }
      use(i, j);
      if (s_.row_is_pivot[row_seen_] || s_.column_is_pivot[column_seen_]) see((column_seen_ + 1) % s_.width);
    }
    return End::enough;
  }

  SORDINO_HD Pivots pivots() const { return {s_.pivot_rows, s_.pivot_columns, rank}; }

 private:
  SORDINO_HD bool full() const { return rows_left_ == 0 || columns_left_ == 0 || rank >= most_rank_; }

  // Where crosses have gone nothing is left but rounding, which a small pivot would make large.
  [[gnu::noinline]] SORDINO_HD void residual_row(i32 i, V* out) const {
    team_.each(s_.width, [&](i32 j) { out[j] = s_.column_is_pivot[j] ? V{} : residual(i, j); });
  }
  [[gnu::noinline]] SORDINO_HD void residual_column(i32 j, V* out) const {
    team_.each(s_.height, [&](i32 i) { out[i] = s_.row_is_pivot[i] ? V{} : residual(i, j); });
  }
  SORDINO_HD V residual(i32 i, i32 j) const { return block_.entry(i, j) - s_.entry(i, j, rank); }
  /// Where |values| is largest, or with sign = -1 smallest, of those that are no pivots.
  SORDINO_HD i32 extreme(const V* values, const unsigned char* is_pivot, i32 n, double sign = 1) const {
    return team_.best(n, [&](i32 k) { return is_pivot[k] ? nothing : sign * magnitude(values[k]); });
  }
  SORDINO_HD i32 largest_row(const V* column) const { return extreme(column, s_.row_is_pivot, s_.height); }
  SORDINO_HD i32 largest_column(const V* row) const { return extreme(row, s_.column_is_pivot, s_.width); }

  /// A column of reference that is no pivot, the first from `from` going round, and the row where it is smallest.
  SORDINO_HD void see(i32 from) {
    const i32 n = s_.width;
    const i32 steps = team_.best(n, [&](i32 k) { return s_.column_is_pivot[(from + k) % n] ? nothing : -double(k); });
    column_seen_ = steps < 0 ? -1 : (from + steps) % n;
    if (column_seen_ < 0) return;
    residual_column(column_seen_, s_.column_seen);
    row_seen_ = extreme(s_.column_seen, s_.row_is_pivot, s_.height, -1);
    if (row_seen_ >= 0) residual_row(row_seen_, s_.row_seen);
  }
  SORDINO_HD void see_row(i32 first) {
    row_seen_ = first;
    residual_row(row_seen_, s_.row_seen);
    column_seen_ = extreme(s_.row_seen, s_.column_is_pivot, s_.width, -1);
    if (column_seen_ >= 0) residual_column(column_seen_, s_.column_seen);
  }

  /// The next cross, and its residuals in `row` and `column`.
  SORDINO_HD bool choose(i32& i, i32& j) const {
    i = largest_row(s_.column_seen), j = largest_column(s_.row_seen);
    if (i < 0 || j < 0) return false;
    if (magnitude(s_.column_seen[i]) > magnitude(s_.row_seen[j])) {
      residual_row(i, s_.row);
      j = largest_column(s_.row);
      if (j >= 0) residual_column(j, s_.column);
    } else {
      residual_column(j, s_.column);
      i = largest_row(s_.column);
      if (i >= 0) residual_row(i, s_.row);
    }
    return i >= 0 && j >= 0;
  }
  /// Whether the term that this pivot makes is small beside the first one, which it may be.
  SORDINO_HD bool is_small(V pivot) {
    const double size = norm(team_, s_.column, s_.height) * norm(team_, s_.row, s_.width) / magnitude(pivot);
    if (rank == 0) first_ = size;
    return size < eps_ * first_;
  }
  SORDINO_HD bool is_small(const V* residual, i32 n) const { return norm(team_, residual, n) < eps_ * first_; }

  /// A term more, the cross of residuals there, which the references lose.
  SORDINO_HD void append(i32 i_pivot, i32 j_pivot) {
    const V pivot = s_.row[j_pivot];
    V *u = s_.u_of(rank), *v = s_.v_of(rank);
    team_.each(s_.height, [&](i32 i) { u[i] = quotient(s_.column[i], pivot); });
    team_.each(s_.width, [&](i32 j) { v[j] = s_.row[j]; });
    team_.each(s_.width, [&](i32 j) { s_.row_seen[j] = s_.row_seen[j] - u[row_seen_] * v[j]; });
    team_.each(s_.height, [&](i32 i) { s_.column_seen[i] = s_.column_seen[i] - u[i] * v[column_seen_]; });
    team_.each(2,
               [&](i32 side) { side == 0 ? insert(s_.pivot_rows, rank, i_pivot) : insert(s_.pivot_columns, rank, j_pivot); });
    rank++;
  }
  SORDINO_HD void use(i32 i, i32 j) {
    team_.each(1, [&](i32) { s_.row_is_pivot[i] = s_.column_is_pivot[j] = 1; });
    rows_left_--, columns_left_--;
  }

  const Team& team_;
  const Block& block_;
  const LeafSpace<V>& s_;
  i32 most_rank_, rows_left_ = 0, columns_left_ = 0, row_seen_ = -1, column_seen_ = -1;
  double eps_ = 0, first_ = 0;
};

}  // namespace sordino::hmatrix
