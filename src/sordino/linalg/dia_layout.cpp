// A rank's slice by diagonals: the part of CsrOperator::Layout that csr_layout.cpp has for rows.
#include <algorithm>
#include <atomic>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/csr_layout.hpp"

namespace sordino {
namespace {

/// Where the columns of a diagonal outside of the slice lie: row i's is storage row i + this.
i32 ghost_shift(i64 offset, i64 n, i64 first, i64 rows, const std::vector<i64>& ghosts) {
  auto outside = columns_outside({{offset}}, n, first, rows);
  if (outside.empty()) return 0;
  i64 place = std::lower_bound(ghosts.begin(), ghosts.end(), outside.front()) - ghosts.begin();
  return i32(rows + place - (outside.front() - offset - first));
}

std::vector<std::uint8_t> diagonals_of_entries(const CsrView& A, const CsrSlice& slice, const std::vector<i64>& offsets) {
  std::vector<std::uint8_t> on(std::size_t(slice.entries));
  for_parts(slice.first_row, slice.first_row + slice.rows, [&](i64 first, i64 last) {
    for (i64 row = first; row < last; row++)
      for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
        auto place = std::lower_bound(offsets.begin(), offsets.end(), A.indices[k] - row);
        on[std::size_t(k - slice.first_entry)] = std::uint8_t(place - offsets.begin());
      }
  });
  return on;
}

}  // namespace

CsrOperator::Layout::Layout(Rank& rank, const CsrView& A, const CsrSlice& slice, const std::vector<i64>& ghosts, i32 first,
                            i64 own, const Diagonals& diagonals)
    : rank_(rank), words_(1), ptr_(pointers(A, slice)), viewed_(nullptr) {
  DiagonalPlaces places(diagonals, slice.rows);
  if (places.stored > i64(~u32(0)))
    throw Error(Errc::unsupported, "a rank's diagonals hold more than 2^32 values: use more ranks");
  places_ = places.at;
  on_diagonal_ = diagonals_of_entries(A, slice, diagonals.offsets);
  staged_ = std::size_t(places.stored);
  staging_ = std::make_unique_for_overwrite<double[]>(staged_);
  for_parts(0, places.stored, [&](i64 first, i64 last) { std::fill(&staging_[first], &staging_[last], 0.0); });
  if (rank.engine().is_device()) device_values_ = reserve_values(staged_);
  DiaRows r{};
  r.values = device_values_ ? device_values_ : staging_.get();
  r.count = i32(places_.size());
  r.own = u32(own);
  r.last = r.own + u32(ghosts.size()) - 1;
  r.first = first;
  r.twice = diagonals.symmetric;
  r.stored = places.stored;
  r.nnz = slice.entries;
  for (std::size_t d = 0; d < places_.size(); d++) {
    i64 offset = diagonals.offsets[d];
    i32 ghost = own == A.n ? 0 : ghost_shift(offset, A.n, slice.first_row, slice.rows, ghosts);
    diagonals_.push_back({places_[d] == DiagonalPlaces::nowhere ? DiaRows::unit : u32(places_[d]), i32(offset), ghost});
  }
  r.diagonals = device_values_ ? upload(diagonals_) : diagonals_.data();
  rows_ = Real{r};
}

i64 CsrOperator::Layout::bytes_by_diagonals(const CsrSlice& slice, bool device, const Diagonals& diagonals) {
  i64 values = i64(sizeof(double)) * DiagonalPlaces(diagonals, slice.rows).stored;
  values += i64(sizeof(DiaRows::Diagonal) * diagonals.offsets.size());
  return device ? values : values + i64(sizeof(u32)) * (slice.rows + 1) + slice.entries;
}

void CsrOperator::Layout::set_diagonals(const double* values) {
  for_parts(0, i64(ptr_.size()) - 1, [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++)
      for (u32 k = ptr_[std::size_t(i)]; k < ptr_[std::size_t(i) + 1]; k++) {
        const i64 first_place = places_[on_diagonal_[k]];
        if (first_place == DiagonalPlaces::nowhere) continue;
        // Of a symmetric pair both threads store the same value.
        std::atomic_ref<double> place(staging_[std::size_t(first_place + i)]);
        place.store(values[k], std::memory_order_relaxed);
      }
  });
  if (device_values_) upload_staged();
}

}  // namespace sordino
