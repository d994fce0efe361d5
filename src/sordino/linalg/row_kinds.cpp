#include "sordino/linalg/row_kinds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

/// Rows that were seen, in the order in which they came.
class Seen {
 public:
  explicit Seen(std::size_t width) : width_(width) { slots_.fill(empty); }

  int count() const { return count_; }
  const double* entries() const { return entries_.data(); }
  bool is(int kind, const double* row) const { return std::memcmp(of(kind), row, width_ * sizeof(double)) == 0; }
  /// The number of a row, which is remembered; most_row_kinds where there is none left for it.
  int kind(const double* row) {
    for (std::size_t slot = hash(row);; slot++) {
      std::int16_t& seen = slots_[slot % slots_.size()];
      if (seen == empty && count_ == most_row_kinds) return most_row_kinds;
      if (seen == empty) {
        entries_.insert(entries_.end(), row, row + width_);
        seen = std::int16_t(count_++);
        return seen;
      }
      if (is(seen, row)) return seen;
    }
  }

 private:
  static constexpr std::int16_t empty = -1;

  const double* of(int kind) const { return entries_.data() + std::size_t(kind) * width_; }
  std::size_t hash(const double* row) const {
    u64 mixed = 0;
    for (std::size_t d = 0; d < width_; d++) {
      u64 bits;
      std::memcpy(&bits, row + d, sizeof bits);
      mixed = (mixed ^ bits) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 32;
    }
    return std::size_t(mixed);
  }

  std::size_t width_;
  int count_ = 0;
  std::vector<double> entries_;
  std::array<std::int16_t, 4 * most_row_kinds> slots_;
};

/// A row by diagonals.
void read(const CsrView& A, i64 row, const Diagonals& diagonals, double* entries) {
  const auto& offsets = diagonals.offsets;
  i64 k = A.begin(row), end = A.begin(row + 1);
  if (!diagonals.in_order()) {
    std::fill_n(entries, offsets.size(), 0.0);
    for (; k < end; k++) entries[diagonals.of(row, A.indices[k])] = A.values[k];
    return;
  }
  for (std::size_t d = 0; d < offsets.size(); d++) entries[d] = k < end && A.indices[k] - row == offsets[d] ? A.values[k++] : 0;
}

}  // namespace

int find_row_kinds(const CsrView& A, const Diagonals& diagonals, i64 first, i64 end, const RowKinds& into) {
  const std::size_t width = diagonals.offsets.size();
  Seen all(width);
  std::mutex mutex;
  std::atomic<bool> too_many{false};
  auto number = [&](const double* row) {
    std::lock_guard lock(mutex);
    const int kind = all.kind(row);
    if (kind == most_row_kinds) too_many = true;
    return kind;
  };
  for_parts(first, end, [&](i64 from, i64 to) {
    Seen part(width);  // so that threads meet at rows of a new kind only
    std::vector<int> in_all;
    std::vector<double> row(width);
    int kind = 0;
    for (i64 i = from; i < to && !too_many; i++) {
      read(A, i, diagonals, row.data());
      if (in_all.empty() || !part.is(kind, row.data())) kind = part.kind(row.data());
      if (kind == int(in_all.size())) in_all.push_back(number(row.data()));
      if (into.of_rows) into.of_rows[i - first] = std::uint8_t(in_all[std::size_t(kind)]);
    }
  });
  if (too_many) return most_row_kinds + 1;
  if (into.entries) std::copy_n(all.entries(), std::size_t(all.count()) * width, into.entries);
  return all.count();
}

}  // namespace sordino
