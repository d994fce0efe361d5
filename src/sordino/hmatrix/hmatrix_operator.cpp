#include "sordino/hmatrix/hmatrix_operator.hpp"

#include <utility>

#include "sordino/linalg/epilogue.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/row_space.hpp"

namespace sordino::hmatrix {
namespace {

RowRange own_rows(const Partition& partition, int rank) {
  return {i32(partition.first_row(rank)), i32(partition.first_row(rank + 1))};
}

std::vector<i64> listed(const RowSet& rows) {
  std::vector<i64> list;
  list.reserve(std::size_t(rows.size()));
  for (RowRange r : rows.ranges())
    for (i64 row = r.begin; row < r.end; row++) list.push_back(row);
  return list;
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
Partition partition_of(const HMatrixOf<V>& matrix, const Ranks& ranks) {
  if (ranks.cuts.empty()) return balance(matrix, ranks.all());
  std::vector<std::vector<i64>> first;
  for (int r = 0; r < ranks.all(); r++) first.push_back({ranks.cuts[std::size_t(r)]});
  return partition_at(matrix.size(), first);
}

template Partition partition_of(const HMatrixOf<double>&, const Ranks&);
template Partition partition_of(const HMatrixOf<Number>&, const Ranks&);

template <class V>
HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, Distribution how)
    : HMatrixOperator(rank, matrix, partition, how, add_row_space(rank, partition, words_of<V>)) {}

template <class V>
HMatrixOperator::HMatrixOperator(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition, Distribution how,
                                 int on_space)
    : space_(on_space) {
  const RowRange own = own_rows(partition, rank.id());
  const Share<V> share = share_of(matrix, partition, how, rank.id());
  require_held(share);
  distribute(rank, partition, how, share);
  build(rank, partition, how, Layout<V>{share, matrix.tree(), own, {share.columns.number(own.begin), own.size()}, own});
}

/// What travels: rows of x, and rows of others, if any.
template <class V>
void HMatrixOperator::distribute(Rank& rank, const Partition& partition, Distribution how, const Share<V>& share) {
  const int words = words_of<V> * columns_;
  const RowRange own = own_rows(partition, rank.id());
  const std::vector<i64> awaited = in_words(listed(share.columns.without(own)), words);
  exchange_ = make_halo(rank, in_words(partition, words), rank.space(space_), awaited);
  exchange_.consumer.rest = {{0, words * own.size()}};
  if (how != Distribution::rows && rank.size() > 1)
    others_ = std::make_unique<OthersRows>(rank, partition, share.rows.without(own), 0, words);
}

template <class V>
HMatrixOperator HMatrixOperator::of_columns(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition,
                                            Distribution how, int columns) const {
  if (gathers_) throw Error(Errc::unsupported, "several vectors at once are distributed, not gathered");
  HMatrixOperator op;
  op.columns_ = columns;
  op.product_ = product_->of_columns(rank, columns);
  op.space_ = add_row_space(rank, partition, words_of<V> * columns);
  op.distribute(rank, partition, how, share_of(matrix, partition, how, rank.id()));
  return op;
}

template HMatrixOperator HMatrixOperator::of_columns(Rank&, const HMatrixOf<double>&, const Partition&, Distribution,
                                                     int) const;
template HMatrixOperator HMatrixOperator::of_columns(Rank&, const HMatrixOf<Number>&, const Partition&, Distribution,
                                                     int) const;

template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<double>&, const Partition&, Distribution);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<Number>&, const Partition&, Distribution);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<double>&, const Partition&, Distribution, int);
template HMatrixOperator::HMatrixOperator(Rank&, const HMatrixOf<Number>&, const Partition&, Distribution, int);

template <class V>
std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank& rank, const HMatrixOf<V>& matrix, const Partition& partition,
                                                           Distribution how, int group) {
  if (words_of<V> == 2) throw Error(Errc::unsupported, "complex matrices have no product that gathers whole vectors");
  auto op = std::unique_ptr<HMatrixOperator>(new HMatrixOperator);
  const RowRange own = own_rows(partition, rank.id()), all{0, i32(matrix.size())};
  const Share<V> share = share_of(matrix, partition, how, rank.id(), /*every_column=*/true);
  require_held(share);
  Space space = replicated_space(partition);
  op->gathers_ = true;
  op->group_ = group;
  const bool in_two_hops = takes_two_hops(rank.size(), group);
  if (!in_two_hops) op->exchange_ = make_gather(rank, partition, space);
  op->space_ = rank.add_space(std::move(space));
  if (in_two_hops) op->by_groups_ = std::make_unique<GroupGather>(rank, partition, op->space_, group);
  op->build(rank, partition, how, Layout<V>{share, matrix.tree(), own, {0, all.end}, all, own.begin});
  return op;
}

template std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank&, const HMatrixOf<double>&, const Partition&,
                                                                    Distribution, int);
template std::unique_ptr<HMatrixOperator> HMatrixOperator::gathered(Rank&, const HMatrixOf<Number>&, const Partition&,
                                                                    Distribution, int);

template <class V>
void HMatrixOperator::build(Rank& rank, const Partition& partition, Distribution how, Layout<V> layout) {
  if (gathers_ && how != Distribution::rows && rank.size() > 1) {
    const RowSet rows = layout.share.rows.without(layout.own);
    others_ = std::make_unique<OthersRows>(rank, partition, rows, std::exchange(layout.first, 0), words_of<V>);
  }
  product_ = rank.engine().is_device() ? panel_product(rank, layout) : strip_product(rank, layout);
}

void HMatrixOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  if (gathers_ && !epilogue.dots.empty())
    bad_argument("a gathered product has only its own rows at hand: take dot products after the gather");
  if (columns_ > 1 && !epilogue.dots.empty())
    bad_argument("a product of several vectors takes no dot products: take them of each column");
  product_->project(rank, x);
  const Vec result = by_groups_ ? by_groups_->next() : y;  // which the last command of the product pushes
  if (others_) {
    const Vec others = others_->next();
    product_->add_up_others(rank, others);
    rank.push_last(others);
    product_->add_up(rank, others_->mine(), {});
    others_->record_sum(rank, others, result);
    record_dots(rank, epilogue);
  } else {
    product_->add_up(rank, result, epilogue);
  }
  if (gathers_) rank.push_last(result);
  if (by_groups_) by_groups_->hand_on(rank, result, y);
}

}  // namespace sordino::hmatrix
