#include "sordino/hmatrix/hmatrix_operator.hpp"

#include <algorithm>
#include <numeric>

#include "sordino/hmatrix/strips.hpp"
#include "sordino/linalg/halo.hpp"

namespace sordino::hmatrix {
namespace {

RowRange own_rows(const Partition& partition, int rank) {
  return {i32(partition.first_row(rank)), i32(partition.first_row(rank + 1))};
}

std::vector<i64> all_but(RowRange rows, i64 n) {
  std::vector<i64> others(std::size_t(n - rows.size()));
  std::iota(others.begin(), others.begin() + rows.begin, i64(0));
  std::iota(others.begin() + rows.begin, others.end(), i64(rows.end));
  return others;
}

}  // namespace

Partition balance(const HMatrix& matrix, int ranks) {
  constexpr double values_an_entry = 12.0 / 8;  // what balance() takes an entry for
  std::vector<i64> cost = costs_before(matrix);
  for (i64& c : cost) c = i64(double(c) / values_an_entry);
  return balance(CsrView{.n = matrix.size(), .indptr = cost.data()}, ranks);
}

HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrix& matrix, const Partition& partition)
    : HMatrixOperator(rank, matrix, partition, rank.add_space(distributed_space(partition, rank.id()))) {}

HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrix& matrix, const Partition& partition, int on_space)
    : space_(on_space) {
  const RowRange own = own_rows(partition, rank.id());
  exchange_ = make_halo(rank, partition, rank.space(space_), all_but(own, matrix.size()));
  exchange_.consumer.rest = {{0, own.size()}};
  make_product(rank, matrix, {own, {own.begin, own.size()}, own, 0});
}

std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank& rank, const HMatrix& matrix, const Partition& partition) {
  auto op = std::unique_ptr<HMatrixOperator>(new HMatrixOperator);
  const RowRange own = own_rows(partition, rank.id());
  const i32 n = i32(matrix.size());
  Space space = replicated_space(partition);
  op->gathers_ = true;
  op->exchange_ = make_gather(rank, partition, space);
  op->space_ = rank.add_space(std::move(space));
  op->make_product(rank, matrix, {own, {0, n}, {0, n}, own.begin});
  return op;
}

void HMatrixOperator::make_product(Rank& rank, const HMatrix& matrix, const Layout& layout) {
  product_ = rank.engine().is_device() ? panel_product(rank, matrix, layout) : strip_product(rank, matrix, layout);
}

void HMatrixOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  if (gathers_ && !epilogue.dots.empty())
    bad_argument("a gathered product has only its own rows at hand: take dot products after the gather");
  product_->record(rank, x, y, epilogue);
  if (gathers_) rank.push_last(y);
}

}  // namespace sordino::hmatrix
