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

/// `visit(row of the block, entry of A)` for each entry of the block of these rows that the factors have.
template <class Visit>
void each_entry(const CsrView& A, i64 first_row, i32 rows, Incomplete kind, const Visit& visit) {
  for (i32 i = 0; i < rows; i++) {
    const i64 row = first_row + i;
    const Within w = within(A, row, first_row, end_column(row, first_row + rows, kind));
    for (i64 e = w.begin; e < w.end; e++) visit(i, e);
  }
}

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

IncompleteOperator::Block::Block(const CsrView& A, i64 first_row, i32 rows, Incomplete kind)
    : begin(std::size_t(rows) + 1, 0), diagonal(std::size_t(rows), 0) {
  each_entry(A, first_row, rows, kind, [&](i32 i, i64 e) {
    begin[std::size_t(i) + 1]++;
    columns.push_back(i32(A.indices[e] - first_row));
    diagonal[std::size_t(i)] += columns.back() < i;
  });
  for (std::size_t i = 0; i < std::size_t(rows); i++) begin[i + 1] += begin[i];
}

/// With values, and reciprocals of pivots.
i64 IncompleteOperator::Block::bytes() const {
  return i64(columns.size() * (sizeof(double) + sizeof(i32)) + diagonal.size() * (sizeof(i32) + sizeof(double)) +
             begin.size() * sizeof(i64));
}

IncompleteOperator::IncompleteOperator(Rank& rank, const CsrView& A, int space, Incomplete kind)
    : space_(space),
      one_row_(rank.add_space(equal_parts(1, rank.id(), rank.size()))),
      first_row_(rank.space(space).first_row),
      kind_(kind),
      block_(A, first_row_, rank.space(space).rows, kind),
      values_(block_.columns.size()),
      inverse_pivots_(block_.diagonal.size(), 1.0) {
  if (rank.engine().is_device()) device_ = std::make_unique<IncompleteDevice>(rank, block_.pattern(), kind, one_row_);
}

i64 IncompleteOperator::factorize(Rank& rank, const CsrView& A) {
  if (!rank.engine().arithmetic()) return -1;
  const IncompletePattern p = block_.pattern();
  auto value = values_.begin();
  each_entry(A, first_row_, p.rows, kind_, [&](i32, i64 e) { *value++ = A.values[e]; });
  const SparseRows block{.n = p.rows, .begin = p.begin, .columns = p.columns};
  const Breakdown broken = kind_ == Incomplete::ic0 ? try_ic0(block, values_.data()) : try_ilu0(block, values_.data());
  if (broken.row >= 0) return first_row_ + broken.row;
  for (i32 i = 0; i < p.rows; i++) inverse_pivots_[std::size_t(i)] = 1 / values_[std::size_t(p.begin[i] + p.diagonal[i])];
  if (device_) device_->fill(rank, values_.data(), inverse_pivots_.data());
  return -1;
}

void IncompleteOperator::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  const IncompletePattern p = block_.pattern();
  if (device_)
    rank.device(device_->task(r, z));
  else
    rank.run_over(one_row_,
                  Substitution{kind_, p.rows, p.begin, p.columns, p.diagonal, values_.data(), inverse_pivots_.data(), r, z});
  record_dots(rank, epilogue);
}

i64 IncompleteOperator::bytes_of(const CsrView& A, i64 first_row, i32 rows, Incomplete kind, bool device) {
  const Block block(A, first_row, rows, kind);
  return device ? IncompleteDevice::bytes_of(block.pattern(), kind) : block.bytes();
}

}  // namespace sordino::trsv
