#include "sordino/linalg/csr_operator.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

#include "sordino/base/large_vector.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/csr_layout.hpp"
#include "sordino/linalg/row_space.hpp"

namespace sordino {

CsrOperator::~CsrOperator() = default;

namespace {

constexpr i64 least_tiles = 64;  // that are worth a thread

bool touches_outside(const CsrView& A, i64 row, i64 begin, i64 end) {
  auto outside = [&](i32 column) { return column < begin || column >= end; };
  return std::any_of(A.indices + A.begin(row), A.indices + A.begin(row + 1), outside);
}

}  // namespace

CsrOperator::CsrOperator(Rank& rank, const CsrView& A, const Partition& partition, const Diagonals& diagonals)
    : CsrOperator(rank, A, partition, add_row_space(rank, partition, A.words), diagonals) {}

CsrOperator::CsrOperator(Rank& rank, const CsrView& A, const Partition& partition, int on_space, const Diagonals& diagonals)
    : space_(on_space), words_(A.words) {
  take_slice(A, partition, rank.id());
  const Space& space = rank.space(space_);
  auto ghosts = foreign_columns(A, slice_, diagonals);
  i64 begin = slice_.first_row, end = begin + slice_.rows;
  split_ = diagonals.in_order()
               ? split_in_order(space, diagonals, A.n)
               : interior_and_boundary(space, begin, words_, [&](i64 row) { return touches_outside(A, row, begin, end); });
  find_halo(rank, partition, ghosts);
  store(rank, A, ghosts, 0, diagonals);
}

CsrOperator::CsrOperator(Rank& rank, const MadeRows& A, const Partition& partition)
    : space_(add_row_space(rank, partition, 1)) {
  slice_.first_row = partition.first_row(rank.id());
  slice_.rows = partition.rows(rank.id());
  slice_.entries = A.entries(slice_.first_row, slice_.rows);
  const GhostRanges ghosts(ranges_outside(A.diagonals, A.n, slice_.first_row, slice_.rows));
  split_ = split_in_order(rank.space(space_), A.diagonals, A.n);
  exchange_ = make_halo(rank, partition, rank.space(space_), ghosts);
  exchange_.consumer = split_;
  layout_ = std::make_unique<Layout>(rank, A, slice_, ghosts);
}

void CsrOperator::find_halo(Rank& rank, const Partition& partition, const std::vector<i64>& ghosts) {
  exchange_ = make_halo(rank, in_words(partition, words_), rank.space(space_), in_words(ghosts, words_));
  exchange_.consumer = split_;
}

/// Where a diagonal leaves the slice for ghosts there may be no entry: then the row reads one times 0, and waits for it all the
/// same. Such rows are first ones, and last ones.
Split CsrOperator::split_in_order(const Space& space, const Diagonals& diagonals, i64 n) const {
  i64 low = 0, high = slice_.rows;
  for (i64 offset : diagonals.offsets) {
    if (columns_outside(offset, n, slice_.first_row, slice_.rows).count() == 0) continue;
    low = std::max(low, -offset), high = std::min(high, slice_.rows - offset);
  }
  return split_at(space, low, high);
}

Split CsrOperator::split_at(const Space& space, i64 low, i64 high) {
  std::vector<char> interior(std::size_t(space.tiles()));
  for (std::size_t t = 0; t < interior.size(); t++) {
    const i64 first = space.tile_rows[t], end = space.tile_rows[t + 1];
    interior[t] = first == end || (first >= low && end <= high);
  }
  auto [first, rest] = split_tiles(space, interior);
  return {first, rest};
}

std::unique_ptr<CsrOperator> CsrOperator::gathered(Rank& rank, const CsrView& A, const Partition& partition,
                                                   const Diagonals& diagonals) {
  auto op = std::unique_ptr<CsrOperator>(new CsrOperator);
  if (A.is_complex()) throw Error(Errc::unsupported, "complex matrices have no product that gathers whole vectors");
  op->gathers_ = true;
  op->take_slice(A, partition, rank.id());
  Space space = replicated_space(partition);
  op->exchange_ = make_gather(rank, partition, space);
  i32 begin = i32(op->slice_.first_row);
  op->split_.first = {{begin, begin + i32(op->slice_.rows)}};
  op->space_ = rank.add_space(std::move(space));
  op->store(rank, A, {}, begin, diagonals);
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

std::vector<i64> CsrOperator::foreign_columns(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals) {
  if (diagonals.in_order()) return columns_outside(diagonals, A.n, slice.first_row, slice.rows);
  return columns_outside_of(A.indices + slice.first_entry, slice.entries, slice.first_row, slice.first_row + slice.rows);
}

std::vector<i64> CsrOperator::columns_outside_of(const i32* columns, i64 count, i64 begin, i64 end) {
  std::vector<i64> outside;
  std::mutex mutex;
  for_parts(0, count, [&](i64 first, i64 last) {
    std::vector<i64> found;
    for (i64 k = first; k < last; k++)
      if (columns[k] < begin || columns[k] >= end) found.push_back(columns[k]);
    std::lock_guard lock(mutex);
    outside.insert(outside.end(), found.begin(), found.end());
  });
  std::sort(outside.begin(), outside.end());
  outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
  return outside;
}

// Entries keep their order, so sums keep their bits.
std::vector<i32> CsrOperator::renumbered(const i32* columns, i64 count, i64 begin, i64 end, const std::vector<i64>& ghosts) {
  std::vector<i32> to = large_vector<i32>(static_cast<std::size_t>(count));
  for_parts(0, count, [&](i64 first, i64 last) {
    for (i64 k = first; k < last; k++) {
      const i64 c = columns[k];
      const bool own = c >= begin && c < end;
      to[std::size_t(k)] =
          i32(own ? c - begin : end - begin + (std::lower_bound(ghosts.begin(), ghosts.end(), c) - ghosts.begin()));
    }
  });
  return to;
}

Split CsrOperator::interior_and_boundary(const Space& space, i64 first_row, int words,
                                         const std::function<bool(i64 row)>& needs_ghosts) {
  std::vector<char> interior(space.tiles(), 1);
  auto row_of = [&](i64 tile) { return first_row + space.tile_rows[std::size_t(tile)] / words; };
  auto look = [&](i64 first, i64 last) {
    for (i64 t = first; t < last; t++)
      for (i64 row = row_of(t); row < row_of(t + 1) && interior[std::size_t(t)]; row++)
        if (needs_ghosts(row)) interior[std::size_t(t)] = 0;
  };
  for_parts(0, space.tiles(), look, least_tiles);
  auto [first, rest] = split_tiles(space, interior);
  return {first, rest};
}

void CsrOperator::store(Rank& rank, const CsrView& A, const std::vector<i64>& ghosts, i32 first, const Diagonals& diagonals) {
  const i64 own = gathers_ ? A.n : slice_.rows;
  if (diagonals.in_order()) {
    layout_ = std::make_unique<Layout>(rank, A, slice_, ghosts, first, own, diagonals);
  } else {
    bool as_they_are = gathers_ || (ghosts.empty() && rank.size() == 1);
    std::vector<i32> columns = as_they_are ? std::vector<i32>{} : renumbered(A, slice_, ghosts);
    const i32* viewed = A.indices + slice_.first_entry;
    if (diagonals.empty())
      layout_ = std::make_unique<Layout>(rank, Layout::pointers(A, slice_), std::move(columns), viewed, first, words_);
    else
      layout_ = std::make_unique<Layout>(rank, A, slice_, as_they_are ? viewed : columns.data(), first, own, diagonals);
  }
  update_values(rank, A.values);
}

i64 CsrOperator::bytes() const { return layout_->bytes(); }

i64 CsrOperator::bytes_of(const CsrView& A, const CsrSlice& slice, bool device, bool renumbers, const Diagonals& diagonals) {
  if (diagonals.in_order()) return Layout::bytes_by_diagonals(slice, device, diagonals);
  if (!diagonals.empty()) {
    const auto columns = renumbers ? renumbered(A, slice, foreign_columns(A, slice)) : std::vector<i32>{};
    return renumbers
               ? Layout::bytes_by_runs(A, slice, columns.data(), 0, slice.rows, device, diagonals)
               : Layout::bytes_by_runs(A, slice, A.indices + slice.first_entry, i32(slice.first_row), A.n, device, diagonals);
  }
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
