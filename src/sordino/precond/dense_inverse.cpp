#include "sordino/precond/dense_inverse.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 group = 8;             // rows that are zero or not together, and columns of a product
constexpr i64 panel = 64;            // columns of L, or rows of the inverse, that are found together
constexpr i64 high = 4;              // rows of a product that stays in registers, half as wide as a group
constexpr i64 deep = 256;            // rows of factors that stay in the first cache
constexpr i64 least_groups = 16;     // of columns that are worth a thread
constexpr double vanishing = 1e-12;  // of a pivot's own diagonal
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double rounding = 16 * epsilon, coarse_rounding = 1e-9;  // of the largest one, a row

/// C -= A^T B of [depth][high] numbers by [depth][high], each `lda` or `ldb` behind the last, in the order of depth.
void subtract_block(i64 depth, const double* A, i64 lda, const double* B, i64 ldb, double* C, i64 ldc) {
  double sum[high][high];
  for (i64 i = 0; i < high; i++)
    for (i64 j = 0; j < high; j++) sum[i][j] = C[i * ldc + j];
  for (i64 k = 0; k < depth; k++)
    for (i64 i = 0; i < high; i++)
      for (i64 j = 0; j < high; j++) sum[i][j] -= A[k * lda + i] * B[k * ldb + j];
  for (i64 i = 0; i < high; i++)
    for (i64 j = 0; j < high; j++) C[i * ldc + j] = sum[i][j];
}

/// A part's inverse: L D L^T by panels of columns, and from the last panel to the first X of L^T X = D^-1 L^-1, of which a
/// panel's rows need those below alone (Takahashi, Fagan, Chin 1973). Both skip groups of rows that begin behind the panel.
class PartInverse {
 public:
  /// Of the rows in this order.
  PartInverse(const CsrView& A, const std::vector<i64>& rows, std::vector<i64>& number, bool of_closed)
      : A_(A), rows_(rows), number_(number), n_((i64(rows.size()) + group - 1) / group * group) {
    gather();
    for (i64 k = 0; k < n_; k += panel) eliminate(k, std::min(k + panel, n_), of_closed);
    for (i64 k = (n_ - 1) / panel * panel; k >= 0; k -= panel) invert(k, std::min(k + panel, n_));
    for (i64 k : left_out_) add_kernel(k);
    for (const auto& v : kernel_) project(v);
  }
  double operator()(i64 i, i64 j) const { return at(i, j); }

 private:
  double& at(i64 i, i64 j) { return X_[std::size_t(i * n_ + j)]; }
  const double& at(i64 i, i64 j) const { return X_[std::size_t(i * n_ + j)]; }
  double* row(i64 i) { return &X_[std::size_t(i * n_)]; }

  /// What is added to make groups is 1.
  void gather() {
    const i64 rows = i64(rows_.size());
    X_.resize(std::size_t(n_ * n_));
    pivot_.resize(std::size_t(n_));
    begins_.assign(std::size_t(n_ / group), n_);
    for (i64 i = 0; i < rows; i++) number_[std::size_t(rows_[std::size_t(i)])] = i;
    for (i64 i = rows; i < n_; i++) at(i, i) = 1;
    for (i64 i = 0; i < rows; i++) {
      const i64 from = rows_[std::size_t(i)];
      for (i64 k = A_.begin(from); k < A_.begin(from + 1); k++)
        if (A_.values[k] != 0) set(i, number_[std::size_t(A_.indices[k])], A_.values[k]);
    }
    for (i64 i = 0; i < n_; i++) pivot_[std::size_t(i)] = at(i, i);
  }
  void set(i64 i, i64 j, double value) {
    at(i, j) = value;
    i64& begin = begins_[std::size_t(i / group)];
    begin = std::min(begin, j);
  }

  /// Those behind a panel's end whose rows of L begin before it.
  std::vector<i64> groups_from(i64 end) const {
    std::vector<i64> found;
    for (i64 g = end / group; g < n_ / group; g++)
      if (begins_[std::size_t(g)] < end) found.push_back(g);
    return found;
  }

  bool vanishes(i64 k, double pivot, bool of_closed) const {
    const double before = pivot_[std::size_t(k)], n = double(rows_.size());
    if (k == 0 || k + 1 != i64(rows_.size())) return !(pivot > vanishing * before);
    return !(pivot > (of_closed ? coarse_rounding : rounding) * n * before);  // the largest one stands last
  }

  /// L of columns [begin, end), and what it takes from those behind them.
  void eliminate(i64 begin, i64 end, bool of_closed) {
    factor_diagonal(begin, end, of_closed);
    const std::vector<i64> groups = groups_from(end);
    const std::size_t size = std::size_t((end - begin) * group);
    std::vector<double> LD(groups.size() * size), L(groups.size() * size);  // [groups][columns][group]
    for_parts(
        0, i64(groups.size()),
        [&](i64 from, i64 to) {
          for (i64 p = from; p < to; p++)
            find_rows(begin, end, groups[std::size_t(p)], &LD[std::size_t(p) * size], &L[std::size_t(p) * size]);
        },
        least_groups);
    auto update = [&](std::size_t p) {  // a group of rows, as far as its diagonal
      for (std::size_t q = 0; q <= p; q++)
        for (i64 i = 0; i < group; i += high)
          for (i64 j = 0; j < group; j += high)
            subtract_block(end - begin, &LD[p * size] + i, group, &L[q * size] + j, group,
                           &at(groups[p] * group + i, groups[q] * group + j), n_);
    };
    const i64 count = i64(groups.size()), pairs = (count + 1) / 2;  // of a short one and a long one
    for_parts(
        0, pairs,
        [&](i64 from, i64 to) {
          for (i64 p = from; p < to; p++) {
            update(std::size_t(p));
            if (const i64 other = count - 1 - p; other != p) update(std::size_t(other));
          }
        },
        least_groups / 2);
  }

  void factor_diagonal(i64 begin, i64 end, bool of_closed) {
    std::array<double, panel> column;
    for (i64 k = begin; k < end; k++) {
      const double pivot = at(k, k);
      const bool is_zero = vanishes(k, pivot, of_closed);
      pivot_[std::size_t(k)] = is_zero ? 0 : pivot;
      if (is_zero) std::fill(row(k), row(k) + k, 0.0);
      if (is_zero && k < i64(rows_.size())) left_out_.push_back(k);  // not what was added, where numbers are not finite
      for (i64 i = k + 1; i < end; i++) {
        column[std::size_t(i - begin)] = at(i, k);
        at(i, k) = is_zero ? 0 : at(i, k) / pivot;
        for (i64 j = k + 1; j <= i; j++) at(i, j) -= at(i, k) * column[std::size_t(j - begin)];
      }
    }
  }

  /// Of a group of rows, by columns: L D, and L.
  void find_rows(i64 begin, i64 end, i64 g, double* LD, double* L) {
    for (i64 k = begin; k < end; k++) {
      double* of = LD + (k - begin) * group;
      for (i64 i = 0; i < group; i++) of[i] = at(g * group + i, k);
      for (i64 m = begin; m < k; m++)
        for (i64 i = 0; i < group; i++) of[i] -= at(k, m) * LD[(m - begin) * group + i];
      const double pivot = pivot_[std::size_t(k)];
      for (i64 i = 0; i < group; i++) {
        if (pivot == 0) of[i] = 0;
        at(g * group + i, k) = L[(k - begin) * group + i] = pivot == 0 ? 0 : of[i] / pivot;
      }
    }
  }

  /// Rows [begin, end) of X, those of the last columns first, and what mirrors them.
  void invert(i64 begin, i64 end) {
    const i64 width = end - begin;
    const std::vector<i64> groups = groups_from(end);
    std::vector<double> own(std::size_t(width * width)), below(groups.size() * std::size_t(group * width));
    for (i64 i = 0; i < width; i++) std::copy_n(row(begin + i) + begin, i, &own[std::size_t(i * width)]);
    double* to = below.data();  // [width / high][groups][group][high]
    for (i64 i = begin; i < end; i += high)
      for (i64 g : groups)
        for (i64 k = g * group; k < (g + 1) * group; k++, to += high) std::copy_n(row(k) + i, high, to);
    auto find = [&](i64 from, i64 until) {
      for (i64 g = from; g < until; g++) find_columns(begin, end, g, groups, own, below);
    };
    for_parts(end / group, n_ / group, find, least_groups);
    find(begin / group, end / group);
    for (i64 i = begin; i < end; i++)
      for (i64 j = i + 1; j < end; j++) at(j, i) = at(i, j);
  }

  /// Of a group of columns. `own`: L of the panel's own rows, [width][width]; `below`: of those behind it.
  void find_columns(i64 begin, i64 end, i64 g, const std::vector<i64>& groups, const std::vector<double>& own,
                    const std::vector<double>& below) {
    const i64 width = end - begin, depth = i64(groups.size()) * group, first = g * group;
    std::array<double, panel * group> C{};  // [width][group]
    if (first < end) right_side(begin, end, first, own, C.data());
    std::array<double, deep * group> X;
    for (i64 k = 0; k < depth; k += deep) {
      const i64 count = std::min(deep, depth - k);
      for (i64 i = 0; i < count; i++)
        std::copy_n(row(groups[std::size_t((k + i) / group)] * group + i % group) + first, group, &X[std::size_t(i * group)]);
      for (i64 i = 0; i < width; i += high)
        for (i64 j = 0; j < group; j += high)
          subtract_block(count, &below[std::size_t((i / high * depth + k) * high)], high, &X[std::size_t(j)], group,
                         &C[std::size_t(i * group + j)], group);
    }
    for (i64 m = width - 1; m >= 0; m--)
      for (i64 k = m + 1; k < width; k++)
        for (i64 j = 0; j < group; j++)
          C[std::size_t(m * group + j)] -= own[std::size_t(k * width + m)] * C[std::size_t(k * group + j)];
    for (i64 m = 0; m < width; m++) std::copy_n(&C[std::size_t(m * group)], group, row(begin + m) + first);
    if (first < end) return;  // which is mirrored when all of it is there
    for (i64 j = 0; j < group; j++)
      for (i64 m = 0; m < width; m++) at(first + j, begin + m) = C[std::size_t(m * group + j)];
  }

  /// Columns of D^-1 L^-1 of the panel's own rows.
  void right_side(i64 begin, i64 end, i64 first, const std::vector<double>& own, double* C) const {
    const i64 width = end - begin;
    for (i64 j = 0; j < group; j++) C[(first - begin + j) * group + j] = 1;
    for (i64 m = 0; m < width; m++)
      for (i64 k = 0; k < m; k++)
        for (i64 j = 0; j < group; j++) C[m * group + j] -= own[std::size_t(m * width + k)] * C[k * group + j];
    for (i64 m = 0; m < width; m++) {
      const double pivot = pivot_[std::size_t(begin + m)];
      for (i64 j = 0; j < group; j++) C[m * group + j] = pivot == 0 ? 0 : C[m * group + j] / pivot;
    }
  }

  /// The vector that is 1 in the row that was left out, and that A maps to zero: what the others' inverse makes of its column.
  /// Orthonormal to those before.
  void add_kernel(i64 left_out) {
    const i64 from = rows_[std::size_t(left_out)];
    std::vector<double> v(std::size_t(n_), 0.0);
    for (i64 k = A_.begin(from); k < A_.begin(from + 1); k++) {
      const i64 j = number_[std::size_t(A_.indices[k])];
      if (A_.values[k] == 0) continue;
      for (i64 i = 0; i < n_; i++) v[std::size_t(i)] -= A_.values[k] * at(j, i);
    }
    v[std::size_t(left_out)] = 1;
    for (const auto& other : kernel_) {
      const double along = std::inner_product(v.begin(), v.end(), other.begin(), 0.0);
      for (std::size_t i = 0; i < v.size(); i++) v[i] -= along * other[i];
    }
    const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    for (double& value : v) value /= norm;
    kernel_.push_back(std::move(v));
  }

  /// X = (I - v v^T) X (I - v v^T).
  void project(const std::vector<double>& v) {
    std::vector<double> Xv(v.size());
    for (i64 i = 0; i < n_; i++) Xv[std::size_t(i)] = std::inner_product(v.begin(), v.end(), row(i), 0.0);
    const double half = std::inner_product(v.begin(), v.end(), Xv.begin(), 0.0) / 2;
    for (std::size_t i = 0; i < v.size(); i++) Xv[i] -= half * v[i];
    for (i64 i = 0; i < n_; i++)
      for (i64 j = 0; j < n_; j++) at(i, j) -= v[std::size_t(i)] * Xv[std::size_t(j)] + Xv[std::size_t(i)] * v[std::size_t(j)];
  }

  const CsrView& A_;
  const std::vector<i64>& rows_;
  std::vector<i64>& number_;  // of A's rows in the part
  i64 n_;                     // rows, in whole groups
  std::vector<double> X_;     // [n][n], below its diagonal first A, then L
  std::vector<double> pivot_;
  std::vector<i64> begins_;  // the first column of each group's rows
  std::vector<i64> left_out_;
  std::vector<std::vector<double>> kernel_;
};

/// Rows that are coupled, each part's in order but for the one of its largest diagonal, which is the last.
std::vector<std::vector<i64>> parts_of(const CsrView& A) {
  std::vector<std::vector<i64>> parts;
  std::vector<bool> seen(std::size_t(A.n), false);
  std::vector<double> diagonal(std::size_t(A.n), 0.0);
  for (i64 first = 0; first < A.n; first++) {
    if (seen[std::size_t(first)]) continue;
    seen[std::size_t(first)] = true;
    std::vector<i64> rows{first};
    for (std::size_t at = 0; at < rows.size(); at++)
      for (i64 k = A.begin(rows[at]); k < A.begin(rows[at] + 1); k++) {
        const i64 j = A.indices[k];
        if (j == rows[at]) diagonal[std::size_t(j)] = A.values[k];
        if (A.values[k] != 0 && !seen[std::size_t(j)]) seen[std::size_t(j)] = true, rows.push_back(j);
      }
    std::sort(rows.begin(), rows.end());
    const auto largest = std::max_element(rows.begin(), rows.end(),
                                          [&](i64 a, i64 b) { return diagonal[std::size_t(a)] < diagonal[std::size_t(b)]; });
    std::rotate(largest, largest + 1, rows.end());
    parts.push_back(std::move(rows));
  }
  return parts;
}

}  // namespace

CsrMatrix inverse_of(const CsrView& A, bool of_closed) {
  CsrMatrix to;
  to.n = A.n;
  to.indptr.resize(std::size_t(A.n + 1));
  to.indices.resize(std::size_t(A.n * A.n));
  to.values.resize(to.indices.size());
  for (i64 i = 0; i < A.n; i++) {
    to.indptr[std::size_t(i + 1)] = (i + 1) * A.n;
    std::iota(to.indices.begin() + i * A.n, to.indices.begin() + (i + 1) * A.n, 0);
  }
  std::vector<i64> number(static_cast<std::size_t>(A.n));
  for (const std::vector<i64>& rows : parts_of(A)) {
    const PartInverse X(A, rows, number, of_closed);
    for (std::size_t i = 0; i < rows.size(); i++)
      for (std::size_t j = 0; j < rows.size(); j++) to.values[std::size_t(rows[i] * A.n + rows[j])] = X(i64(i), i64(j));
  }
  return to;
}

bool is_closed(const CsrView& A) {
  auto holds = [&](i64 row) {
    double sum = 0, magnitudes = 0;
    bool is_coupled = false;
    for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
      sum += A.values[k], magnitudes += std::abs(A.values[k]);
      is_coupled |= A.indices[k] != row && A.values[k] != 0;
    }
    return is_coupled && std::abs(sum) > double(A.begin(row + 1) - A.begin(row)) * epsilon * magnitudes;
  };
  return all_parts(A.first_row, A.end_row(), [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; row++)
      if (holds(row)) return false;
    return true;
  });
}

}  // namespace sordino
