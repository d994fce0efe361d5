#include "sordino/trsv/incomplete_operator.hpp"

#include <algorithm>

#include "sordino/linalg/epilogue.hpp"

namespace sordino::trsv {
namespace {

/// A row's entries of the block begin and end at these entries of A.
struct Within {
  i64 begin, end;
};

Within within(const CsrView& A, i64 row, i64 first_row, i64 end_row) {
  const i32 *const begin = A.indices + A.begin(row), *const end = A.indices + A.begin(row + 1);
  return {std::lower_bound(begin, end, i32(first_row)) - A.indices, std::lower_bound(begin, end, i32(end_row)) - A.indices};
}

/// Columns behind a row's own belong to U, which IC(0) has none of.
i64 end_column(i64 row, i64 end_row, Incomplete kind) { return kind == Incomplete::ic0 ? row + 1 : end_row; }

/// z = M^-1 r of all rows of the rank, which are one row of the command's space.
struct Substitution {
  static constexpr const char* name = "Incomplete factor";
  Incomplete kind;
  i32 rows;
  const i64* begin;
  const i32 *columns, *diagonal;
  const double *values, *inverse_pivots;
  Foreign<const double, Access::read> r;
  Foreign<double, Access::write> z;

  template <class V>
  void fields(V&& visit) {
    visit(r);
    visit(z);
  }
  void row(i32) { kind == Incomplete::ic0 ? by_symmetric() : by_both(); }
  /// Rows, their entries with columns, and pivots; L twice where U is L^T. r once, z three times, and of IC(0) once more.
  Cost cost() const {
    const double entries = double(begin[rows]), n = rows;
    if (kind == Incomplete::ic0) return {24 * (entries - n) + 64 * n, 4 * entries - 2 * n};
    return {12 * entries + 52 * n, 2 * entries};
  }

 private:
  void by_symmetric() const {
    for (i32 i = 0; i < rows; i++) {
      double sum = r[i];
      for (i64 e = begin[i]; e < begin[i + 1] - 1; e++) sum -= values[e] * z[columns[e]];
      z[i] = sum * inverse_pivots[i];
    }
    for (i32 i = rows; i-- > 0;) {  // columns of L^T are the rows of L
      const double x = z[i] * inverse_pivots[i];
      z[i] = x;
      for (i64 e = begin[i]; e < begin[i + 1] - 1; e++) z[columns[e]] -= values[e] * x;
    }
  }
  void by_both() const {
    for (i32 i = 0; i < rows; i++) {
      double sum = r[i];
      for (i64 e = begin[i]; e < begin[i] + diagonal[i]; e++) sum -= values[e] * z[columns[e]];
      z[i] = sum;
    }
    for (i32 i = rows; i-- > 0;) {
      double sum = z[i];
      for (i64 e = begin[i] + diagonal[i] + 1; e < begin[i + 1]; e++) sum -= values[e] * z[columns[e]];
      z[i] = sum * inverse_pivots[i];
    }
  }
};

}  // namespace

template <class Visit>
void IncompleteOperator::each_entry(const CsrView& A, const Visit& visit) const {
  for (i32 i = 0; i < rows_; i++) {
    const i64 row = first_row_ + i;
    const Within w = within(A, row, first_row_, end_column(row, first_row_ + rows_, kind_));
    for (i64 e = w.begin; e < w.end; e++) visit(i, e);
  }
}

IncompleteOperator::IncompleteOperator(Rank& rank, const CsrView& A, int space, Incomplete kind)
    : space_(space),
      one_row_(rank.add_space(equal_parts(1, rank.id(), rank.size()))),
      first_row_(rank.space(space).first_row),
      rows_(rank.space(space).rows),
      kind_(kind),
      begin_(std::size_t(rows_) + 1, 0),
      diagonal_(std::size_t(rows_), 0),
      inverse_pivots_(std::size_t(rows_), 1.0) {
  each_entry(A, [&](i32 i, i64 e) {
    begin_[std::size_t(i) + 1]++;
    columns_.push_back(i32(A.indices[e] - first_row_));
    diagonal_[std::size_t(i)] += columns_.back() < i;
  });
  for (std::size_t i = 0; i < std::size_t(rows_); i++) begin_[i + 1] += begin_[i];
  values_.resize(columns_.size());
}

i64 IncompleteOperator::factorize(Rank& rank, const CsrView& A) {
  if (!rank.engine().arithmetic()) return -1;
  auto value = values_.begin();
  each_entry(A, [&](i32, i64 e) { *value++ = A.values[e]; });
  const SparseRows block{.n = rows_, .begin = begin_.data(), .columns = columns_.data()};
  const Breakdown broken = kind_ == Incomplete::ic0 ? try_ic0(block, values_.data()) : try_ilu0(block, values_.data());
  if (broken.row >= 0) return first_row_ + broken.row;
  for (std::size_t i = 0; i < std::size_t(rows_); i++) inverse_pivots_[i] = 1 / values_[std::size_t(begin_[i] + diagonal_[i])];
  return -1;
}

void IncompleteOperator::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  rank.run_over(one_row_, Substitution{kind_, rows_, begin_.data(), columns_.data(), diagonal_.data(), values_.data(),
                                       inverse_pivots_.data(), r, z});
  record_dots(rank, epilogue);
}

i64 IncompleteOperator::bytes_of(const CsrView& A, i64 first_row, i32 rows, Incomplete kind) {
  i64 entries = 0;
  for (i64 row = first_row; row < first_row + rows; row++) {
    const Within w = within(A, row, first_row, end_column(row, first_row + rows, kind));
    entries += w.end - w.begin;
  }
  return entries * i64(sizeof(double) + sizeof(i32)) + i64(rows) * i64(sizeof(i64) + sizeof(i32) + sizeof(double)) +
         i64(sizeof(i64));
}

}  // namespace sordino::trsv
