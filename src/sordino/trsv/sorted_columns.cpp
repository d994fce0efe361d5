#include "sordino/trsv/sorted_columns.hpp"

#include <algorithm>
#include <atomic>

#include "sordino/trsv/parts.hpp"
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {
namespace {

/// In which order the entries of one column after the other have increasing rows.
class Sorting {
 public:
  explicit Sorting(const LowerPattern& pattern) : p_(pattern) {}

  /// Of column j: that of the column which was sorted last, where this one has its last rows.
  void sort(i64 j) {
    const i32* const rows = p_.rows + p_.begin[j];
    const i64 count = p_.begin[j + 1] - p_.begin[j];
    skipped_ = i64(order_.size()) - count;
    if (skipped_ >= 0 && std::equal(rows, rows + count, sorted_ + skipped_)) return;
    sorted_ = rows, skipped_ = 0;
    keys_.resize(std::size_t(count)), order_.resize(std::size_t(count));
    for (std::size_t k = 0; k < keys_.size(); k++) keys_[k] = u64(u32(rows[k])) << 32 | k;
    std::sort(keys_.begin(), keys_.end());
    for (std::size_t k = 0; k < keys_.size(); k++) order_[k] = i32(u32(keys_[k]));
  }
  /// visit(entry) in that order, counted from the column's first.
  template <class Visit>
  void each(const Visit& visit) const {
    for (i32 k : order_)
      if (k >= skipped_) visit(k - skipped_);
  }

 private:
  const LowerPattern& p_;
  const i32* sorted_ = nullptr;  // rows of the column that was sorted
  std::vector<i32> order_;
  std::vector<u64> keys_;
  i64 skipped_ = 0;
};

}  // namespace

template <class V>
SortedColumns<V> sorted_columns(const LowerPattern& p, const V* values, int threads) {
  SortedColumns<V> s{LargeArray<i32>(std::size_t(p.entries())), LargeArray<V>(std::size_t(p.entries()))};
  std::atomic<bool> moved{false}, unique{true};
  in_parts(columns_in_parts(p, threads), threads, [&](i64 first, i64 end) {
    Sorting sorting(p);
    for (i64 j = first; j < end; j++) {
      const i64 begin = p.begin[j], count = p.begin[j + 1] - begin;
      if (std::is_sorted(p.rows + begin, p.rows + begin + count)) {
        std::copy_n(p.rows + begin, count, s.rows.data() + begin);
        std::copy_n(values + begin, count, s.values.data() + begin);
      } else {
        i64 to = begin;
        sorting.sort(j);
        sorting.each(
            [&](i64 k) { s.rows[std::size_t(to)] = p.rows[begin + k], s.values[std::size_t(to++)] = values[begin + k]; });
        moved = true;
      }
      const i32* const rows = s.rows.data() + begin;
      if (std::adjacent_find(rows, rows + count) != rows + count) unique = false;
    }
  });
  s.moved = moved, s.unique = unique;
  return s;
}

template SortedColumns<float> sorted_columns(const LowerPattern&, const float*, int);
template SortedColumns<double> sorted_columns(const LowerPattern&, const double*, int);
template SortedColumns<Number> sorted_columns(const LowerPattern&, const Number*, int);

}  // namespace sordino::trsv
