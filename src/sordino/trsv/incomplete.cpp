#include "sordino/trsv/incomplete.hpp"

#include <vector>

#include "sordino/base/error.hpp"

namespace sordino::trsv {
namespace {

double real_part(double a) { return a; }
double real_part(Number a) { return a.re; }

void require_whole(const char* what, const Breakdown& b) {
  if (b.row >= 0) bad_argument(std::string(what) + " breaks down in row " + std::to_string(b.row) + ": " + b.why);
}

void require_order(const SparseRows& A, i64 row) {
  for (i64 k = A.begin[row]; k < A.begin[row + 1]; k++)
    if (A.columns[k] < 0 || A.columns[k] >= A.n || (k > A.begin[row] && A.columns[k] <= A.columns[k - 1]))
      bad_argument("columns of row " + std::to_string(row) + " of the matrix do not increase within it");
}

/// Why a pivot cannot be divided by; null: it can.
template <class V>
const char* refusal_of(V pivot) {
  if (magnitude(pivot) == 0) return "the pivot is zero";
  return is_finite(reciprocal(pivot)) && is_finite(pivot) ? nullptr : "the pivot or its reciprocal overflows";
}

}  // namespace

template <class V>
Breakdown try_ilu0(const SparseRows& A, V* values) {
  std::vector<i64> diagonal(std::size_t(A.n), -1), place(std::size_t(A.n), -1);  // of row i's entry in each column
  std::vector<V> inverse(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++) {
    require_order(A, i);
    for (i64 e = A.begin[i]; e < A.begin[i + 1]; e++) place[std::size_t(A.columns[e])] = e;
    if (diagonal[std::size_t(i)] = place[std::size_t(i)]; diagonal[std::size_t(i)] < 0)
      return {i, "the matrix has no entry on the diagonal there"};
    for (i64 e = A.begin[i]; e < diagonal[std::size_t(i)]; e++) {
      const std::size_t k = std::size_t(A.columns[e]);
      values[e] = values[e] * inverse[k];
      for (i64 f = diagonal[k] + 1; f < A.begin[k + 1]; f++)
        if (const i64 at = place[std::size_t(A.columns[f])]; at >= 0) values[at] = values[at] - values[e] * values[f];
    }
    for (i64 e = A.begin[i]; e < A.begin[i + 1]; e++) {
      if (!is_finite(values[e])) return {i, "entries overflow"};
      place[std::size_t(A.columns[e])] = -1;
    }
    const V pivot = values[diagonal[std::size_t(i)]];
    if (const char* why = refusal_of(pivot)) return {i, why};
    inverse[std::size_t(i)] = reciprocal(pivot);
  }
  return {};
}

template <class V>
Breakdown try_ic0(const SparseRows& A, V* values) {
  std::vector<V> inverse(std::size_t(A.n));
  for (i64 i = 0; i < A.n; i++) {
    require_order(A, i);
    const i64 begin = A.begin[i], last = A.begin[i + 1] - 1;
    if (last < begin || A.columns[last] != i) return {i, "the last entry of the row is not the diagonal's"};
    double pivot = real_part(values[last]);
    for (i64 e = begin; e < last; e++) {
      const i64 j = A.columns[e];
      i64 own = begin, other = A.begin[j];
      V sum = values[e];
      while (own < e && other < A.begin[j + 1] - 1) {  // columns that both rows have
        const i32 k = A.columns[own], l = A.columns[other];
        if (k == l) sum = sum - values[own] * conjugate(values[other]);
        own += k <= l;
        other += l <= k;
      }
      values[e] = sum * inverse[std::size_t(j)];
      if (!is_finite(values[e])) return {i, "entries overflow"};
      pivot -= magnitude(values[e]) * magnitude(values[e]);
    }
    if (!(pivot > 0)) return {i, "the pivot is " + std::to_string(pivot) + ", and must be positive"};
    values[last] = V(std::sqrt(pivot));
    if (const char* why = refusal_of(values[last])) return {i, why};
    inverse[std::size_t(i)] = reciprocal(values[last]);
  }
  return {};
}

template <class V>
void ilu0(const SparseRows& A, V* values) {
  require_whole("ILU(0)", try_ilu0(A, values));
}

template <class V>
void ic0(const SparseRows& lower, V* values) {
  require_whole("IC(0)", try_ic0(lower, values));
}

template void ilu0(const SparseRows&, double*);
template void ilu0(const SparseRows&, Number*);
template void ic0(const SparseRows&, double*);
template void ic0(const SparseRows&, Number*);
template Breakdown try_ilu0(const SparseRows&, double*);
template Breakdown try_ilu0(const SparseRows&, Number*);
template Breakdown try_ic0(const SparseRows&, double*);
template Breakdown try_ic0(const SparseRows&, Number*);

}  // namespace sordino::trsv
