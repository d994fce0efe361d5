#include "sordino/trsv/residual.hpp"

#include <algorithm>
#include <limits>

namespace sordino::trsv {
namespace {

/// A number from which products are taken, one by one. What each difference loses is kept beside it (Knuth, The Art of Computer
/// Programming 2, 4.2.2, theorem B), so that only products are rounded.
class Left {
 public:
  explicit Left(double begin) : sum_(begin) {}
  void subtract(double a, double b) {
    const double product = a * b, next = sum_ - product, taken = next - sum_;
    lost_ += (sum_ - (next - taken)) - (product + taken);
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_, lost_ = 0;
};

/// Products of floats are exact in double.
class LeftOfFloats {
 public:
  explicit LeftOfFloats(float begin) : sum_(begin) {}
  void subtract(float a, float b) { sum_ -= double(a) * double(b); }
  double value() const { return sum_; }

 private:
  double sum_;
};

class LeftOfNumbers {
 public:
  explicit LeftOfNumbers(Number begin) : re_(begin.re), im_(begin.im) {}
  void subtract(Number a, Number b) {
    re_.subtract(a.re, b.re), re_.subtract(-a.im, b.im);
    im_.subtract(a.re, b.im), im_.subtract(a.im, b.re);
  }
  Number value() const { return {re_.value(), im_.value()}; }

 private:
  Left re_, im_;
};

template <class V>
struct LeftOf {
  using Type = Left;
};
template <>
struct LeftOf<float> {
  using Type = LeftOfFloats;
};
template <>
struct LeftOf<Number> {
  using Type = LeftOfNumbers;
};

/// Calls entry(row, column, value) for each entry of L, L^T or L^H.
template <class V, class Entry>
void each_entry(const TriangleView<V>& L, How how, const Entry& entry) {
  for (i64 j = 0; j < L.pattern.n; j++) {
    if (L.unit) entry(j, j, V{1});
    for (i64 k = L.pattern.begin[j]; k < L.pattern.begin[j + 1]; k++) {
      const i64 i = L.pattern.rows[k];
      if (L.unit && i == j) continue;
      if (how == How::plain)
        entry(i, j, L.values[k]);
      else
        entry(j, i, how == How::adjoint ? conjugate(L.values[k]) : L.values[k]);
    }
  }
}

/// b - L x, [n][columns]
template <class V>
auto left_over(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns) {
  std::vector<typename LeftOf<V>::Type> left(b, b + L.pattern.n * columns);
  each_entry(L, how, [&](i64 i, i64 j, V value) {
    for (i64 c = 0; c < columns; c++) left[std::size_t(i * columns + c)].subtract(value, x[j * columns + c]);
  });
  return left;
}

}  // namespace

template <class V>
void residual(const TriangleView<V>& L, How how, const V* b, const V* x, V* r, i64 columns) {
  const auto left = left_over(L, how, b, x, columns);
  std::transform(left.begin(), left.end(), r, [](const auto& of) { return V(of.value()); });
}

template <class V>
std::vector<double> backward_errors(const TriangleView<V>& L, How how, const V* b, const V* x, i64 columns) {
  const auto left = left_over(L, how, b, x, columns);
  std::vector<double> most(left.size());
  for (std::size_t k = 0; k < most.size(); k++) most[k] = magnitude(b[k]);
  each_entry(L, how, [&](i64 i, i64 j, V value) {
    for (i64 c = 0; c < columns; c++) most[std::size_t(i * columns + c)] += magnitude(value) * magnitude(x[j * columns + c]);
  });
  std::vector<double> errors(std::size_t(columns), 0.0);
  for (std::size_t k = 0; k < most.size(); k++) {
    const double off = magnitude(left[k].value());
    double& error = errors[k % std::size_t(columns)];
    if (off != 0) error = std::max(error, off <= most[k] * std::numeric_limits<double>::max() ? off / most[k] : INFINITY);
    if (!is_finite(x[k])) error = INFINITY;
  }
  return errors;
}

#define SORDINO_RESIDUALS(V)                                                        \
  template void residual(const TriangleView<V>&, How, const V*, const V*, V*, i64); \
  template std::vector<double> backward_errors(const TriangleView<V>&, How, const V*, const V*, i64);
SORDINO_RESIDUALS(float)
SORDINO_RESIDUALS(double)
SORDINO_RESIDUALS(Number)
#undef SORDINO_RESIDUALS

}  // namespace sordino::trsv
