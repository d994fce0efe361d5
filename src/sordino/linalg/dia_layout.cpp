// A rank's slice by diagonals: the part of CsrOperator::Layout that csr_layout.cpp has for rows.
#include <algorithm>
#include <atomic>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/base/range.hpp"
#include "sordino/linalg/csr_layout.hpp"
#include "sordino/linalg/entry_diagonals.hpp"
#include "sordino/linalg/row_kinds.hpp"

namespace sordino {
namespace {

constexpr i64 rows_together = 32;

/// How many lead to rows before, or are the main one.
std::size_t diagonals_behind(const Diagonals& diagonals) {
  const auto& offsets = diagonals.offsets;
  return std::size_t(std::upper_bound(offsets.begin(), offsets.end(), 0) - offsets.begin());
}

/// Where the columns of a diagonal outside of the slice lie: row i's is storage row i + this.
i32 ghost_shift(i64 offset, i64 n, i64 first, i64 rows, const GhostRanges& ghosts) {
  const ColumnRange outside = columns_outside(offset, n, first, rows);
  if (outside.count() == 0) return 0;
  return i32(rows + ghosts.place(outside.begin) - (outside.begin - offset - first));
}

}  // namespace

/// Where values of the slice lie, and their columns.
DiagonalPlaces CsrOperator::Layout::begin_diagonals(const Diagonals& diagonals, i64 n, const CsrSlice& slice,
                                                    const GhostRanges& ghosts, i64 own) {
  const auto& offsets = diagonals.offsets;
  DiagonalPlaces places(diagonals, slice.rows);
  require_few_places(places.stored);
  for (std::size_t d = 0; d < offsets.size(); d++) {
    i32 ghost = own == n ? 0 : ghost_shift(offsets[d], n, slice.first_row, slice.rows, ghosts);
    i64 at = places.at[d];
    diagonals_.push_back({at == DiagonalPlaces::nowhere ? StoredDiagonal::unit : u32(at), i32(offsets[d]), ghost});
  }
  return places;
}

/// By the functor that serves them best.
template <class Entries>
void CsrOperator::Layout::keep_diagonals(const Entries& entries, const CsrSlice& slice, std::size_t ghosts, i32 first,
                                         i64 own) {
  DiaRowsOf<Entries> r{};
  r.entries = entries;
  r.diagonals = device_values_ ? upload(diagonals_) : diagonals_.data();
  r.count = i32(diagonals_.size());
  r.own = u32(own);
  r.last = r.own + u32(ghosts) - 1;
  r.first = first;
  r.nnz = slice.entries;
  rows_ = std::visit([](const auto& best) { return Real{best}; }, by_points(r, diagonals_.data()));
}

CsrOperator::Layout::Layout(Rank& rank, const CsrView& A, const CsrSlice& slice, const std::vector<i64>& ghosts, i32 first,
                            i64 own, const Diagonals& diagonals)
    : rank_(rank), words_(1), viewed_(nullptr) {
  DiagonalPlaces places = begin_diagonals(diagonals, A.n, slice, GhostRanges(ghosts), own);
  reserve_places(places.stored);
  if (diagonals.constant)
    keep_diagonals(shared_entries(A, slice, diagonals), slice, ghosts.size(), first, own);
  else
    keep_diagonals(own_entries(A, slice, diagonals, std::move(places.at)), slice, ghosts.size(), first, own);
}

/// What a device keeps is never on the host.
CsrOperator::Layout::Layout(Rank& rank, const MadeRows& A, const CsrSlice& slice, const GhostRanges& ghosts)
    : rank_(rank), words_(1), viewed_(nullptr) {
  const DiagonalPlaces places = begin_diagonals(A.diagonals, A.n, slice, ghosts, slice.rows);
  staged_ = std::size_t(places.stored);
  if (rank.engine().is_device())
    device_values_ = reserve_values(staged_);
  else
    staging_ = LargeArray<double>(staged_);
  double* const values = device_values_ ? device_values_ : staging_.data();
  fill_ = [fill = A.fill, diagonals = A.diagonals, slice](double* to) {
    Range range("fill diagonals");
    if (slice.rows > 0) fill(diagonals, slice.first_row, slice.rows, to);
  };
  fill_(values);
  keep_diagonals(OwnEntries{values, A.diagonals.symmetric, i64(staged_)}, slice, std::size_t(ghosts.count()), 0, slice.rows);
}

void CsrOperator::Layout::reserve_places(i64 stored) {
  staged_ = std::size_t(stored);
  staging_ = LargeArray<double>(staged_);
  for_parts(0, stored, [&](i64 begin, i64 end) { std::fill(staging_.begin() + begin, staging_.begin() + end, 0.0); });
  if (rank_.engine().is_device()) device_values_ = reserve_values(staged_);
}

OwnEntries CsrOperator::Layout::own_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals,
                                            std::vector<i64> places) {
  ptr_ = pointers(A, slice);
  held_ = diagonals;
  places_ = std::move(places);
  on_diagonal_ = LargeArray<std::uint8_t>(std::size_t(slice.entries));
  find_entry_diagonals(A, slice, diagonals, on_diagonal_.data());
  return {device_values_ ? device_values_ : staging_.data(), diagonals.symmetric, i64(staged_)};
}

SharedEntries CsrOperator::Layout::shared_entries(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals) {
  slice_of_ = A;
  slice_of_.indptr += slice.first_row - A.first_row;
  slice_of_.first_row = slice.first_row;
  slice_of_.held = slice.rows;
  held_ = diagonals;
  kinds_.resize(std::size_t(slice.rows));
  if (device_values_) device_kinds_ = upload(kinds_);
  return {device_values_ ? device_values_ : staging_.data(), device_kinds_ ? device_kinds_ : kinds_.data(), slice.rows};
}

i64 CsrOperator::Layout::bytes_by_diagonals(const CsrSlice& slice, bool device, const Diagonals& diagonals) {
  return bytes_of_places(DiagonalPlaces(diagonals, slice.rows).stored, slice, device, diagonals) +
         i64(sizeof(StoredDiagonal) * diagonals.offsets.size());
}

i64 CsrOperator::Layout::bytes_of_places(i64 stored, const CsrSlice& slice, bool device, const Diagonals& diagonals) {
  const i64 values = i64(sizeof(double)) * stored;
  if (diagonals.constant) return values + slice.rows;
  return device ? values : values + i64(sizeof(u32)) * (slice.rows + 1) + slice.entries;
}

void CsrOperator::Layout::set_diagonals(const double* values) {
  const bool in_order = runs_.starts.empty();
  const RunsView runs = runs_.view(i32(held_.offsets.size()));
  auto place_of = [&](i64 row, std::size_t d) {
    if (in_order) return places_[d] == DiagonalPlaces::nowhere ? places_[d] : places_[d] + row;
    const RunDiagonal diagonal = runs.of(u32(row))[d];
    return diagonal.is_unit() ? DiagonalPlaces::nowhere : i64(u32(diagonal.at + u32(row)));
  };
  // Of a symmetric pair both threads store the same value.
  auto keep = [&](i64 at, double value) {
    if (at != DiagonalPlaces::nowhere) std::atomic_ref(staging_[std::size_t(at)]).store(value, std::memory_order_relaxed);
  };
  const i64 rows = i64(ptr_.size()) - 1;
  const std::size_t count = held_.offsets.size(), behind = in_order && held_.symmetric ? diagonals_behind(held_) : count;
  auto begin_of = [&](i64 i) { return ptr_[std::size_t(i)]; };
  // Some rows with an entry on each diagonal, which goes along them, line by line of a cache; entries ahead are kept by the
  // rows that they lead to.
  auto keep_whole = [&](i64 i, i64 many) {
    const double* const from = values + begin_of(i);
    const std::size_t own = i + many - 1 + held_.offsets.back() < rows ? behind : count;
    for (std::size_t d = 0; d < own; d++)
      for (i64 r = 0, at = places_[d]; at != DiagonalPlaces::nowhere && r < many; r++)
        keep(at + i + r, from[std::size_t(r) * count + d]);
  };
  for_parts(0, rows, [&](i64 first, i64 last) {
    for (i64 i = first, many; i < last; i += std::max<i64>(many, 1)) {
      const i64 most = in_order ? std::min<i64>(i + rows_together, last) : i;
      for (many = 0; i + many < most && begin_of(i + many + 1) - begin_of(i + many) == count;) many++;
      if (many > 0)
        keep_whole(i, many);
      else
        for (u32 k = begin_of(i); k < begin_of(i + 1); k++) keep(place_of(i, on_diagonal_[k]), values[k]);
    }
  });
  if (device_values_) upload_staged();
}

void CsrOperator::Layout::set_row_kinds(const double* values) {
  slice_of_.values = values - slice_of_.indptr[0];
  const RowKinds into{kinds_.data(), staging_.data()};
  if (find_row_kinds(slice_of_, held_, slice_of_.first_row, slice_of_.end_row(), into) > most_row_kinds)
    bad_argument("a rank has more than " + std::to_string(most_row_kinds) +
                 " different rows, which storage constant cannot hold");
  if (!device_values_) return;
  upload_staged();
  rank_.engine().upload(rank_, device_kinds_, kinds_.data(), kinds_.size());
}

}  // namespace sordino
