#include "sordino/hmatrix/hmatrix_operator.hpp"

#include <algorithm>
#include <numeric>

#include "sordino/hmatrix/strips.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/row_space.hpp"

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

template <class V>
std::unique_ptr<Product> product_of(Rank& rank, const HMatrixOf<V>& matrix, const Layout& layout) {
  return rank.engine().is_device() ? panel_product(rank, matrix, layout) : strip_product(rank, matrix, layout);
}

}  // namespace

template <class V>
Partition balance(const HMatrixOf<V>& matrix, int ranks) {
  constexpr double values_an_entry = 12.0 / 8;  // what balance() takes an entry for
  std::vector<i64> cost = costs_before(matrix);
  for (i64& c : cost) c = i64(double(c) / values_an_entry);
  return balance(CsrView{.n = matrix.size(), .indptr = cost.data()}, ranks);
}

template Partition balance(const HMatrixOf<double>&, int);
template Partition balance(const HMatrixOf<Number>&, int);

template <class V>
HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition)
    : HMatrixOperator(rank, matrix, partition, add_row_space(rank, partition, words_of<V>)) {}

template <class V>
HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, int on_space)
    : space_(on_space) {
  constexpr int words = words_of<V>;
  const RowRange own = own_rows(partition, rank.id());
  exchange_ = make_halo(rank, in_words(partition, words), rank.space(space_), in_words(all_but(own, matrix.size()), words));
  exchange_.consumer.rest = {{0, words * own.size()}};
  product_ = product_of(rank, matrix, {own, {own.begin, own.size()}, own, 0});
}

template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<double>&, const Partition&);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<Number>&, const Partition&);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<double>&, const Partition&, int);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<Number>&, const Partition&, int);

template <class V>
std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition) {
  if (words_of<V> == 2) throw Error(Errc::unsupported, "complex matrices have no product that gathers whole vectors");
  auto op = std::unique_ptr<HMatrixOperator>(new HMatrixOperator);
  const RowRange own = own_rows(partition, rank.id());
  const i32 n = i32(matrix.size());
  Space space = replicated_space(partition);
  op->gathers_ = true;
  op->exchange_ = make_gather(rank, partition, space);
  op->space_ = rank.add_space(std::move(space));
  op->product_ = product_of(rank, matrix, {own, {0, n}, {0, n}, own.begin});
  return op;
}

template std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank&, const HMatrixOf<double>&, const Partition&);
template std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank&, const HMatrixOf<Number>&, const Partition&);

void HMatrixOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  if (gathers_ && !epilogue.dots.empty())
    bad_argument("a gathered product has only its own rows at hand: take dot products after the gather");
  product_->record(rank, x, y, epilogue);
  if (gathers_) rank.push_last(y);
}

}  // namespace sordino::hmatrix
