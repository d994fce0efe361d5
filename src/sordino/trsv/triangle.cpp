// Triangles that somebody gives: what they must be, and by what a pattern is known again.
#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/parts.hpp"

namespace sordino::trsv {
namespace {

std::string at(i64 row, i64 column) {
  std::string place = "(";
  return place.append(std::to_string(row)).append(", ").append(std::to_string(column)).append(")");
}

/// That rows of column j are below its diagonal, and none stands twice. Where they increase `seen` is not looked at; else
/// seen[i] becomes the last column that had an entry in row i. Returns whether they increase.
bool check_rows(const LowerPattern& p, i64 j, std::vector<i32>& seen) {
  const i64 begin = p.begin[j], end = p.begin[j + 1];
  bool increase = begin == end || p.rows[begin] >= j;
  for (i64 k = begin + 1; k < end; k++) increase &= p.rows[k - 1] < p.rows[k];
  if (increase && (begin == end || p.rows[end - 1] < p.n)) return true;
  seen.resize(std::size_t(p.n), -1);
  for (i64 k = begin; k < end; k++) {
    const i64 i = p.rows[k];
    if (i < 0 || i >= p.n)
      bad_argument("column " + std::to_string(j) + " of the triangle has an entry in row " + std::to_string(i) + " of " +
                   std::to_string(p.n));
    if (i < j) bad_argument("the matrix is not lower triangular: there is an entry at " + at(i, j));
    if (std::exchange(seen[std::size_t(i)], i32(j)) == j) bad_argument("the triangle has two entries at " + at(i, j));
  }
  return false;
}

/// That there is a pivot to divide by, and that all is finite.
template <class V>
void check_values(const TriangleView<V>& L, i64 j) {
  const LowerPattern& p = L.pattern;
  bool has_pivot = L.unit;
  for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) {
    const i64 i = p.rows[k];
    if (i == j && L.unit) continue;
    const V value = L.values[k];
    if (!is_finite(value)) bad_argument("the entry at " + at(i, j) + " of the triangle is not finite");
    if (i != j) continue;
    has_pivot = true;
    if (magnitude(value) == 0) bad_argument("the pivot of row " + std::to_string(j) + " is zero (rows are counted from 0)");
    if (!is_finite(reciprocal(value)))
      bad_argument("the pivot of row " + std::to_string(j) +
                   " is so small that its reciprocal overflows (rows are counted from 0)");
  }
  if (!has_pivot)
    bad_argument("the pivot of row " + std::to_string(j) + " is missing, so it is zero (rows are counted from 0)");
}

u64 mixed(u64 print, u64 word) {
  print = (print ^ word) * 0x9e3779b97f4a7c15u;
  return print ^ print >> 29;
}

}  // namespace

template <class V>
bool validate(const TriangleView<V>& L, int threads) {
  if (L.pattern.n < 1) bad_argument("the triangle has no rows");
  std::atomic<bool> sorted{true};
  in_parts(columns_in_parts(L.pattern, threads), threads, [&](i64 begin, i64 end) {
    std::vector<i32> seen;
    for (i64 j = begin; j < end; j++) {
      if (!check_rows(L.pattern, j, seen)) sorted = false;
      check_values(L, j);
    }
  });
  return sorted;
}

u64 print_of(const LowerPattern& p, int threads) {
  constexpr i64 some = 256;  // columns: their prints are mixed in their order, whoever finds them
  std::vector<u64> prints(std::size_t((p.n + some - 1) / some));
  deal_out(i64(prints.size()), 16, threads, [&](i64 begin, i64 end, int) {
    for (i64 part = begin; part < end; part++) {
      u64 print = u64(part);
      for (i64 j = part * some; j < std::min(p.n, (part + 1) * some); j++) {
        print = mixed(print, u64(p.begin[j + 1]));
        for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) print = mixed(print, u64(p.rows[k]));
      }
      prints[std::size_t(part)] = print;
    }
  });
  u64 print = mixed(u64(p.n), u64(p.begin[0]));
  for (u64 part : prints) print = mixed(print, part);
  return print;
}

template bool validate(const TriangleView<float>&, int);
template bool validate(const TriangleView<double>&, int);
template bool validate(const TriangleView<Number>&, int);

}  // namespace sordino::trsv
