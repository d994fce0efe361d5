#include "sordino/trsv/parts.hpp"

#include <algorithm>

namespace sordino::trsv {
namespace {

constexpr i64 least_entries = 1 << 15;  // of a part: a thread takes some 20 us to begin

i64 parts_of(const LowerPattern& p, int threads) {
  return std::clamp<i64>((p.entries() + p.n) / least_entries, 1, thread_count(threads));
}

}  // namespace

std::vector<i64> columns_in_parts(const LowerPattern& p, int threads) {
  const i64 parts = parts_of(p, threads), all = p.entries() + p.n;  // a column is some work, too
  std::vector<i64> cuts{0};
  for (i64 part = 1; part < parts; part++) {
    i64 first = cuts.back(), end = p.n;  // between them is the column before which there is so much
    while (first < end) {
      const i64 middle = (first + end) / 2;
      if (p.begin[middle] + middle < all * part / parts)
        first = middle + 1;
      else
        end = middle;
    }
    cuts.push_back(first);
  }
  cuts.push_back(p.n);
  return cuts;
}

std::vector<i64> rows_in_parts(const LowerPattern& p, int threads) {
  const i64 parts = p.sorted && p.entries() > 0 ? parts_of(p, threads) : 1;
  if (parts == 1) return {0, p.n};
  constexpr i64 of_part = 64;  // that are looked at
  std::vector<i32> sample;
  for (i64 k = 0; k < parts * of_part; k++) sample.push_back(p.rows[p.entries() * k / (parts * of_part)]);
  std::sort(sample.begin(), sample.end());
  std::vector<i64> cuts{0};
  for (i64 part = 1; part < parts; part++) cuts.push_back(sample[std::size_t(part * of_part)]);
  cuts.push_back(p.n);
  return cuts;
}

}  // namespace sordino::trsv
