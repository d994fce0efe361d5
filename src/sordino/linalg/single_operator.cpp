#include "sordino/linalg/single_operator.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/large_array.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/columns_outside.hpp"

namespace sordino {
namespace {

constexpr int room = 14;  // halves are less than twice 2^14, and at least 2^-14 with all their digits

CsrSlice slice_of(const CsrView& A, const Partition& partition, int rank) {
  const i64 first = partition.first_row(rank), end = partition.first_row(rank + 1);
  return {first, end - first, A.begin(first), A.begin(end) - A.begin(first)};
}

/// Of a matrix that is stored otherwise, too: here every diagonal has all its entries.
Diagonals kept(const Diagonals& diagonals) {
  if (!diagonals.in_order()) return {};
  return {.offsets = diagonals.offsets, .symmetric = diagonals.symmetric && !diagonals.constant};
}

/// How far behind row i the ghost of each diagonal lies. Empty where one diagonal's ghosts are not behind each other, as those
/// of two ranks with an odd number of rows.
std::optional<std::vector<i32>> ghost_shifts(const Diagonals& diagonals, i64 n, const CsrSlice& slice,
                                             const PairedPlaces& places) {
  std::vector<i32> shifts;
  for (i64 offset : diagonals.offsets) {
    const ColumnRange outside = columns_outside(offset, n, slice.first_row, slice.rows);
    const auto shift = [&](i64 column) { return places.of(column) - (column - offset - slice.first_row); };
    shifts.push_back(outside.count() == 0 ? 0 : i32(shift(outside.begin)));
    for (i64 column = outside.begin; column < outside.end; column++)
      if (shift(column) != shifts.back()) return {};
  }
  return shifts;
}

}  // namespace

Partition in_pairs(const Partition& rows) {
  std::vector<std::vector<i64>> first;
  i64 words = 0;
  for (int r = 0; r < rows.ranks(); r++) {
    first.push_back({words});
    words += words_for(rows.rows(r));
  }
  return partition_at(words, first);
}

std::vector<double> packed(const double* rows, i64 count, int exponent) {
  std::vector<double> words(std::size_t(words_for(count)));
  for (i64 w = 0; w < i64(words.size()); w++) {
    const auto number = [&](i64 i) { return i < count ? float(std::ldexp(rows[i], -exponent)) : 0; };
    words[std::size_t(w)] = std::bit_cast<double>(Singles{{number(2 * w), number(2 * w + 1)}});
  }
  return words;
}

PairedPlaces::PairedPlaces(const Partition& rows, int rank, const std::vector<i64>& ghosts)
    : rows_(rows), words_(in_pairs(rows)), rank_(rank) {
  for (i64 row : ghosts)
    if (const i64 word = word_of_row(row); ghosts_.empty() || ghosts_.back() != word) ghosts_.push_back(word);
}

i64 PairedPlaces::of(i64 row) const {
  const int owner = rows_.owner(row);
  if (owner == rank_) return row - rows_.first_row(rank_);
  const i64 place = std::lower_bound(ghosts_.begin(), ghosts_.end(), word_of_row(row)) - ghosts_.begin();
  return 2 * (words_.rows(rank_) + place) + (row - rows_.first_row(owner)) % 2;
}

i64 PairedPlaces::last() const {
  return ghosts_.empty() ? rows_.rows(rank_) - 1 : 2 * (words_.rows(rank_) + i64(ghosts_.size())) - 1;
}

i64 PairedPlaces::word_of_row(i64 row) const {
  const int owner = rows_.owner(row);
  return words_.first_row(owner) + (row - rows_.first_row(owner)) / 2;
}

struct SingleOperator::Stored {
  virtual ~Stored() = default;
  virtual void set_values(const CsrView& A, int exponent) = 0;
  virtual void apply(Vec x, Vec y, const Split& split) const = 0;
  virtual i64 bytes() const = 0;
};

/// By diagonals, where it has shifts, or else by rows.
template <class Entry>
struct SingleOperator::StoredAs final : Stored {
  StoredAs(Rank& rank, const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals, const PairedPlaces& places,
           const std::optional<std::vector<i32>>& shifts)
      : rank_(rank), slice_(slice), scale_(rank.scalar("scale of entries", 1)) {
    if (shifts && !diagonals.empty())
      lay_diagonals(diagonals, places, *shifts);
    else
      lay_rows(A, places);
    values_ = LargeArray<Entry>(std::size_t(count_));
    std::fill(values_.begin(), values_.end(), Entry{});
    if (rank_.engine().is_device()) device_values_ = static_cast<Entry*>(reserve(values_.size() * sizeof(Entry)));
  }
  ~StoredAs() override {
    for (auto& [pointer, bytes] : blocks_) rank_.engine().release_bytes(rank_, pointer, bytes);
  }
  void set_values(const CsrView& A, int exponent) override {
    const double largest = std::is_same_v<Entry, Half> ? largest_stored(A) : 0;
    const int shift = largest > 0 ? std::ilogb(largest) - exponent - room : 0;
    rank_.set(scale_, std::ldexp(1.0, shift));
    const double factor = std::ldexp(1.0, -exponent - shift);
    for_parts(slice_.first_row, slice_.first_row + slice_.rows, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; i++) {
        double sum = 0;
        for (i64 k = A.begin(i); k < A.begin(i + 1); k++) sum += A.values[k];
        for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
          put(place_of(A, i, k), narrowed<Entry>(factor * (A.indices[k] == i ? sum : A.values[k])));
      }
    });
    if (device_values_) rank_.engine().upload(rank_, device_values_, values_.data(), values_.size() * sizeof(Entry));
  }
  /// Of the slice's entries and, since they stand in diagonals' places, of what its rows add up to.
  double largest_stored(const CsrView& A) const {
    double largest = 0;
    for (i64 i = slice_.first_row; i < slice_.first_row + slice_.rows; i++) {
      double sum = 0;
      for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
        sum += A.values[k];
        largest = std::max(largest, std::abs(A.values[k]));
      }
      largest = std::max(largest, std::abs(sum));
    }
    return largest;
  }
  void apply(Vec x, Vec y, const Split& split) const override {
    const Entry* values = device_values_ ? device_values_ : values_.data();
    if (!diagonals_.empty())
      rank_.run_split(
          SingleDiaRows<Entry>{values, on_device_.diagonals ? on_device_.diagonals : diagonals_.data(), i32(diagonals_.size()),
                               i32(slice_.rows), last_, slice_.entries, count_, scale_, x, y},
          split);
    else
      rank_.run_split(SingleCsrRows<Entry>{on_device_.ptr ? on_device_.ptr : ptr_.data(),
                                           on_device_.columns ? on_device_.columns : columns_.data(), values, i32(slice_.rows),
                                           slice_.entries, scale_, x, y},
                      split);
  }

  i64 bytes() const override {
    return count_ * i64(sizeof(Entry)) + i64(sizeof(StoredDiagonal) * diagonals_.size()) +
           4 * i64(ptr_.size() + columns_.size());
  }

 private:
  void lay_diagonals(const Diagonals& diagonals, const PairedPlaces& places, const std::vector<i32>& shifts) {
    const DiagonalPlaces at(diagonals, slice_.rows);
    require_few_places(at.stored);
    for (std::size_t d = 0; d < shifts.size(); d++) diagonals_.push_back({u32(at.at[d]), i32(diagonals.offsets[d]), shifts[d]});
    held_ = diagonals;
    count_ = at.stored;
    last_ = u32(places.last());
    if (rank_.engine().is_device()) on_device_.diagonals = upload(diagonals_);
  }
  void lay_rows(const CsrView& A, const PairedPlaces& places) {
    for (i64 i = 0; i <= slice_.rows; i++) ptr_.push_back(u32(A.begin(slice_.first_row + i) - slice_.first_entry));
    columns_.resize(std::size_t(slice_.entries));
    for (i64 k = 0; k < slice_.entries; k++) columns_[std::size_t(k)] = i32(places.of(A.indices[slice_.first_entry + k]));
    count_ = slice_.entries;
    if (!rank_.engine().is_device()) return;
    on_device_.ptr = upload(ptr_), on_device_.columns = upload(columns_);
  }
  i64 place_of(const CsrView& A, i64 row, i64 k) const {
    if (diagonals_.empty()) return k - slice_.first_entry;
    return i64(diagonals_[held_.of(row, A.indices[k])].at) + row - slice_.first_row;
  }
  /// Of a symmetric pair both threads store the same value.
  void put(i64 place, Entry value) {
    std::atomic_ref<Entry>(values_[std::size_t(place)]).store(value, std::memory_order_relaxed);
  }
  void* reserve(std::size_t bytes) {
    void* p = rank_.engine().allocate_bytes(rank_, bytes);
    blocks_.push_back({p, bytes});
    return p;
  }
  template <class T>
  T* upload(const std::vector<T>& from) {
    T* to = static_cast<T*>(reserve(from.size() * sizeof(T)));
    rank_.engine().upload(rank_, to, from.data(), from.size() * sizeof(T));
    return to;
  }

  Rank& rank_;
  CsrSlice slice_;
  Scal scale_;
  Diagonals held_;
  std::vector<StoredDiagonal> diagonals_;
  u32 last_ = 0;
  std::vector<u32> ptr_;
  std::vector<i32> columns_;
  i64 count_ = 0;
  LargeArray<Entry> values_;
  Entry* device_values_ = nullptr;
  struct {
    StoredDiagonal* diagonals = nullptr;
    u32* ptr = nullptr;
    i32* columns = nullptr;
  } on_device_;
  std::vector<std::pair<void*, std::size_t>> blocks_;
};

SingleOperator::~SingleOperator() = default;

SingleOperator::SingleOperator(Rank& rank, const CsrView& A, const Partition& partition, const Diagonals& diagonals,
                               CyclePrecision precision, int exponent) {
  slice_ = slice_of(A, partition, rank.id());
  const Diagonals mine = kept(diagonals);
  const PairedPlaces places(partition, rank.id(), CsrOperator::foreign_columns(A, slice_, mine));
  space_ = rank.add_space(distributed_space(places.words(), rank.id()));
  exchange_ = make_halo(rank, places.words(), rank.space(space_), places.ghosts());
  const i64 begin = slice_.first_row, end = begin + slice_.rows;
  std::vector<i64> leaving;
  for (i64 offset : mine.offsets)
    if (columns_outside(offset, A.n, begin, slice_.rows).count() > 0) leaving.push_back(offset);
  const auto is_outside = [&](i64 column) { return column < begin || column >= end; };
  const auto needs_ghosts = [&](i64 row) {
    if (!mine.empty()) return std::any_of(leaving.begin(), leaving.end(), [&](i64 o) { return is_outside(row + o); });
    return std::any_of(A.indices + A.begin(row), A.indices + A.begin(row + 1), is_outside);
  };
  split_ = CsrOperator::interior_and_boundary(rank.space(space_), 0, 1, [&](i64 word) {
    return needs_ghosts(begin + 2 * word) || (begin + 2 * word + 1 < end && needs_ghosts(begin + 2 * word + 1));
  });
  exchange_.consumer = split_;
  const auto shifts = ghost_shifts(mine, A.n, slice_, places);
  if (precision == CyclePrecision::half)
    stored_ = std::make_unique<StoredAs<Half>>(rank, A, slice_, mine, places, shifts);
  else
    stored_ = std::make_unique<StoredAs<float>>(rank, A, slice_, mine, places, shifts);
  inverse_diagonal_ = rank.vector("1/diag(A)", space_);
  update_values(rank, A, exponent);
}

void SingleOperator::update_values(Rank& rank, const CsrView& A, int exponent) {
  stored_->set_values(A, exponent);
  std::vector<double> inverse(std::size_t(slice_.rows));
  for (i64 i = 0; i < slice_.rows; i++) {
    const i64 row = slice_.first_row + i;
    const i32 *first = A.indices + A.begin(row), *behind = A.indices + A.begin(row + 1);
    const i32* at = std::lower_bound(first, behind, i32(row));
    if (at == behind || *at != row || A.values[at - A.indices] == 0)
      bad_argument("the diagonal of row " + std::to_string(row) + " is zero");
    inverse[std::size_t(i)] = 1 / A.values[at - A.indices];
  }
  rank.write(inverse_diagonal_, packed(inverse.data(), slice_.rows, -exponent).data());
}

void SingleOperator::apply(Rank&, Vec x, Vec y, const StartDots& epilogue) const {
  if (!epilogue.dots.empty()) bad_argument("a product in single precision takes no dot products");
  stored_->apply(x, y, split_);
}

i64 SingleOperator::bytes() const { return stored_->bytes(); }

i64 SingleOperator::ghosts_of(const CsrView& A, const Partition& partition, int rank, const Diagonals& diagonals) {
  return i64(PairedPlaces(partition, rank, CsrOperator::foreign_columns(A, slice_of(A, partition, rank), kept(diagonals)))
                 .ghosts()
                 .size());
}

i64 SingleOperator::bytes_of(const CsrSlice& slice, const Diagonals& diagonals, CyclePrecision precision) {
  const i64 entry = precision == CyclePrecision::half ? 2 : 4;
  const Diagonals mine = kept(diagonals);
  if (!mine.empty()) return entry * DiagonalPlaces(mine, slice.rows).stored + i64(sizeof(StoredDiagonal) * mine.offsets.size());
  return (entry + 4) * slice.entries + 4 * (slice.rows + 1);
}

}  // namespace sordino
