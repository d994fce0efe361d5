#include "sordino/api/inspect.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/linalg/mirrors.hpp"
#include "sordino/precond/sqrt_jacobi.hpp"

namespace sordino {
namespace {

constexpr int channel = 5;

bool near(double mirror, double value) { return std::abs(mirror - value) <= 1e-12 * std::abs(value); }

const double* entry(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* at = std::lower_bound(begin, end, i32(column));
  return at != end && *at == column ? A.values + (at - A.indices) * A.words : nullptr;
}

}  // namespace

bool is_symmetric(const CsrView& A) {
  return has_mirrors(A, [](double a, double b) { return near(a, b) && near(b, a); });
}

bool is_symmetric(Rank& rank, const CsrView& A, const Partition& partition) {
  struct Entry {
    i64 row, column;
    double value;
  };
  Communicator comm(rank, channel);
  Communicator::Lists<Entry> others(std::size_t(rank.size()));
  for (i64 i = A.first_row; i < A.end_row(); i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
      if (i32 column = A.indices[k]; column < A.first_row || column >= A.end_row())
        others[std::size_t(partition.owner(column))].push_back({i, column, A.values[k]});
  bool symmetric = is_symmetric(A);
  for (auto& list : comm.all_to_all(others))
    for (auto& e : list) {
      const double* mirror = entry(A, e.column, e.row);
      symmetric = symmetric && mirror && near(*mirror, e.value);
    }
  return comm.all_reduce(std::vector<i32>{symmetric}, Fold::min)[0] != 0;
}

i64 zero_diagonal(const CsrView& A) {
  std::atomic<i64> least{A.end_row()};
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    for (i64 i = first; i < last && i < least; i++) {
      const double* d = entry(A, i, i);
      if (d && (*d != 0 || d[A.words - 1] != 0)) continue;
      for (i64 seen = least; i < seen && !least.compare_exchange_weak(seen, i);) {
      }
      return;
    }
  });
  return least < A.end_row() ? least.load() : -1;
}

bool positive_diagonal(const CsrView& A) {
  return all_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    for (i64 i = first; i < last; i++) {
      const double* d = entry(A, i, i);
      if (!d || *d <= 0) return false;
    }
    return true;
  });
}

std::string choose_preconditioner(const CsrView& A, const std::string& asked) {
  if (asked == "none") return asked;
  const bool scales = asked == "sqrt-jacobi";
  bool is_operation = false;
  for (const char* name : {"chebyshev", "block-ilu", "ic0", "ilu0", "mg", "amg"}) is_operation |= asked == name;
  if ((is_operation || scales) && A.is_complex())
    throw Error(Errc::unsupported, "precond " + asked + " is for real matrices: use jacobi or none");
  if (scales) require_positive_diagonal(A);
  if (is_operation || scales) return asked;  // operations look at the diagonal themselves
  i64 row = zero_diagonal(A);
  if (asked == "auto") return row < 0 ? "jacobi" : "none";
  if (row >= 0)
    bad_argument("jacobi needs a nonzero diagonal, and that of row " + std::to_string(row) + " is zero: use precond none");
  return asked;
}

}  // namespace sordino
