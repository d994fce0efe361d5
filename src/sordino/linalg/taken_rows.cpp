#include "sordino/linalg/taken_rows.hpp"

#include <algorithm>
#include <bit>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 at_once = 1 << 10;            // rows whose arrays stay in a cache while they are looked at and copied
constexpr u64 exponent = u64(0x7ff) << 52;  // all ones: no finite number

template <class Start, class Column>
class Taker {
 public:
  Taker(const GivenRows<Start, Column>& given, const TakenRows& to) : A_(given), to_(to) {}

  bool take(i64 first, i64 last) const {
    for (i64 row = first; row < last; row += at_once)
      if (const i64 end = std::min(row + at_once, last); !take_starts(row, end) || !take_entries(row, end)) return false;
    return true;
  }

 private:
  /// Of each row before it is followed.
  bool take_starts(i64 first, i64 last) const {
    if ((first == 0 && A_.indptr[0] != 0) || (last == A_.rows && i64(A_.indptr[last]) != A_.entries)) return false;
    bool right = A_.indptr[first] >= 0;
    for (i64 row = first; row < last; row++)
      right = right && A_.indptr[row] < A_.indptr[row + 1] && i64(A_.indptr[row + 1]) <= A_.entries;
    if (right && to_.indptr)
      for (i64 row = first + (first > 0); row <= last; row++) to_.indptr[row] = i64(A_.indptr[row]);
    return right;
  }

  bool take_entries(i64 first, i64 last) const {
    for (i64 row = first; row < last; row++) {
      Column before = -1;
      for (i64 k = i64(A_.indptr[row]); k < i64(A_.indptr[row + 1]); k++) {
        const Column column = A_.indices[k];
        if (column <= before || i64(column) >= A_.columns) return false;
        before = column;
      }
    }
    const i64 begin = i64(A_.indptr[first]), end = i64(A_.indptr[last]);
    if (to_.indices) std::transform(A_.indices + begin, A_.indices + end, to_.indices + begin, [](Column c) { return i32(c); });
    const double *from = A_.values + begin * A_.words, *until = A_.values + end * A_.words;
    bool finite = true;
    for (const double* value = from; value < until; value++) finite &= (std::bit_cast<u64>(*value) & exponent) != exponent;
    if (finite && to_.values) std::copy(from, until, to_.values + begin * A_.words);
    return finite;
  }

  const GivenRows<Start, Column>& A_;
  const TakenRows& to_;
};

}  // namespace

template <class Start, class Column>
bool take_rows(const GivenRows<Start, Column>& given, const TakenRows& to) {
  const Taker<Start, Column> taker(given, to);
  return all_parts(0, given.rows, [&](i64 first, i64 last) { return taker.take(first, last); });
}

template bool take_rows(const GivenRows<i32, i32>&, const TakenRows&);
template bool take_rows(const GivenRows<i32, i64>&, const TakenRows&);
template bool take_rows(const GivenRows<i64, i32>&, const TakenRows&);
template bool take_rows(const GivenRows<i64, i64>&, const TakenRows&);

}  // namespace sordino
