#include "sordino/precond/dense_inverse.hpp"

#include <algorithm>
#include <numeric>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 least_columns = 32;  // that are worth a thread

/// L D L^T of a symmetric matrix, without the rows whose pivots vanish: of a singular one those that hang on the others.
class DenseFactor {
 public:
  explicit DenseFactor(const CsrView& A) : n_(std::size_t(A.n)), L_(n_ * n_), pivot_(n_) {
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.begin(i); k < A.begin(i + 1); k++) L_[std::size_t(i) * n_ + std::size_t(A.indices[k])] = A.values[k];
    for (std::size_t k = 0; k < n_; k++) eliminate(k);
  }
  /// Column j of the inverse; of a row that was left out 0.
  std::vector<double> column(std::size_t j) const {
    std::vector<double> x(n_, 0.0);
    if (pivot_[j] == 0) return x;
    x[j] = 1;
    for (std::size_t i = j; i < n_; i++)
      for (std::size_t k = j; k < i; k++) x[i] -= L_[i * n_ + k] * x[k];
    for (std::size_t i = 0; i < n_; i++) x[i] = pivot_[i] == 0 ? 0 : x[i] / pivot_[i];
    for (std::size_t i = n_; i-- > 0;)
      for (std::size_t k = 0; k < i; k++) x[k] -= L_[i * n_ + k] * x[i];
    return x;
  }

 private:
  void eliminate(std::size_t k) {
    double pivot = L_[k * n_ + k];
    const double before = pivot;
    for (std::size_t m = 0; m < k; m++) pivot -= L_[k * n_ + m] * L_[k * n_ + m] * pivot_[m];
    const bool vanishes = !(pivot > 1e-12 * before);
    pivot_[k] = vanishes ? 0 : pivot;
    for (std::size_t i = k + 1; i < n_; i++) {
      double sum = L_[i * n_ + k];
      for (std::size_t m = 0; m < k; m++) sum -= L_[i * n_ + m] * L_[k * n_ + m] * pivot_[m];
      L_[i * n_ + k] = vanishes ? 0 : sum / pivot;
    }
    for (std::size_t m = 0; vanishes && m < k; m++) L_[k * n_ + m] = 0;
  }

  std::size_t n_;
  std::vector<double> L_, pivot_;
};

}  // namespace

CsrMatrix inverse_of(const CsrView& A) {
  const DenseFactor factor(A);
  CsrMatrix to;
  to.n = A.n;
  to.indptr.resize(std::size_t(A.n + 1));
  to.indices.resize(std::size_t(A.n * A.n));
  to.values.resize(to.indices.size());
  auto find_row = [&](i64 i) {
    to.indptr[std::size_t(i + 1)] = (i + 1) * A.n;
    const std::vector<double> row = factor.column(std::size_t(i));  // which is a column, too
    std::copy(row.begin(), row.end(), to.values.begin() + i * A.n);
    std::iota(to.indices.begin() + i * A.n, to.indices.begin() + (i + 1) * A.n, 0);
  };
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++) find_row(i);
      },
      least_columns);
  return to;
}

}  // namespace sordino
