#include "sordino/linalg/csr_operator.hpp"

#include <algorithm>
#include <limits>

#include "sordino/linalg/csr_layout.hpp"
#include "sordino/linalg/row_space.hpp"

namespace sordino {

CsrOperator::~CsrOperator() = default;

CsrOperator::CsrOperator(Rank& rank, const CsrView& A, const Partition& partition)
    : CsrOperator(rank, A, partition, add_row_space(rank, partition, A.words)) {}

CsrOperator::CsrOperator(Rank& rank, const CsrView& A, const Partition& partition, int on_space)
    : space_(on_space), words_(A.words) {
  take_slice(A, partition, rank.id());
  const Space& space = rank.space(space_);
  auto ghosts = foreign_columns(A);
  exchange_ = make_halo(rank, in_words(partition, words_), space, in_words(ghosts, words_));
  split_ = interior_and_boundary(A, space);
  exchange_.consumer = split_;
  store(rank, A, ghosts.empty() && rank.size() == 1 ? std::vector<i32>{} : renumbered(A, ghosts), 0);
}

std::unique_ptr<CsrOperator> CsrOperator::gathered(Rank& rank, const CsrView& A, const Partition& partition) {
  auto op = std::unique_ptr<CsrOperator>(new CsrOperator);
  if (A.is_complex()) throw Error(Errc::unsupported, "complex matrices have no product that gathers whole vectors");
  op->gathers_ = true;
  op->take_slice(A, partition, rank.id());
  Space space = replicated_space(partition);
  op->exchange_ = make_gather(rank, partition, space);
  i32 begin = i32(op->slice_.first_row);
  op->split_.first = {{begin, begin + i32(op->slice_.rows)}};
  op->space_ = rank.add_space(std::move(space));
  op->store(rank, A, {}, begin);
  return op;
}

void CsrOperator::take_slice(const CsrView& A, const Partition& partition, int rank) {
  slice_.first_row = partition.first_row(rank);
  slice_.rows = partition.rows(rank);
  slice_.first_entry = A.begin(slice_.first_row);
  slice_.entries = A.begin(slice_.first_row + slice_.rows) - slice_.first_entry;
  if (slice_.entries > std::numeric_limits<u32>::max())
    throw Error(Errc::unsupported, "a rank's slice holds more than 2^32 nonzeros: use more ranks");
}

std::vector<i64> CsrOperator::foreign_columns(const CsrView& A) const {
  std::vector<i64> columns;
  i64 begin = slice_.first_row, end = begin + slice_.rows;
  for (i64 k = slice_.first_entry; k < slice_.first_entry + slice_.entries; k++)
    if (A.indices[k] < begin || A.indices[k] >= end) columns.push_back(A.indices[k]);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

// Columns become storage rows: own rows first, ghosts behind. Entries keep their order, so sums keep their bits.
std::vector<i32> CsrOperator::renumbered(const CsrView& A, const std::vector<i64>& ghosts) const {
  std::vector<i32> columns(std::size_t(slice_.entries));
  i64 begin = slice_.first_row, end = begin + slice_.rows;
  for (i64 k = 0; k < slice_.entries; k++) {
    i64 c = A.indices[slice_.first_entry + k];
    if (c >= begin && c < end)
      columns[k] = i32(c - begin);
    else
      columns[k] = i32(slice_.rows + (std::lower_bound(ghosts.begin(), ghosts.end(), c) - ghosts.begin()));
  }
  return columns;
}

Split CsrOperator::interior_and_boundary(const CsrView& A, const Space& space) const {
  std::vector<char> interior(space.tiles(), 1);
  i64 begin = slice_.first_row, end = begin + slice_.rows;
  for (i32 t = 0; t < space.tiles(); t++)
    for (i64 row = begin + space.tile_rows[t] / words_; row < begin + space.tile_rows[t + 1] / words_; row++)
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++)
        if (A.indices[k] < begin || A.indices[k] >= end) interior[t] = 0;
  auto [first, rest] = split_tiles(space, interior);
  return {first, rest};
}

void CsrOperator::store(Rank& rank, const CsrView& A, std::vector<i32> columns, i32 first) {
  layout_ = std::make_unique<Layout>(rank, Layout::pointers(A, slice_), std::move(columns), A.indices + slice_.first_entry,
                                     first, words_);
  update_values(rank, A.values);
}

i64 CsrOperator::bytes() const { return layout_->bytes(); }

i64 CsrOperator::bytes_of(const CsrView& A, const CsrSlice& slice, bool device, bool renumbers) {
  if (device) return Layout::bytes_on_device(Layout::pointers(A, slice), A.words);
  return i64(sizeof(i32)) * (slice.rows + 1 + (renumbers ? slice.entries : 0));
}

void CsrOperator::update_values(Rank&, const double* values) { layout_->set_values(values + slice_.first_entry * words_); }

void CsrOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  if (gathers_ && !epilogue.dots.empty())
    bad_argument("a gathered product has only its own rows at hand: take dot products after the gather");
  layout_->apply(rank, x, y, split_, epilogue);
  if (gathers_) rank.push_last(y);
}

void CsrOperator::apply_pair(Rank& rank, Vec x0, Vec y0, Vec x1, Vec y1) const {
  if (gathers_) return Operator::apply_pair(rank, x0, y0, x1, y1);
  layout_->apply_pair(rank, x0, y0, x1, y1, split_);
}

}  // namespace sordino
