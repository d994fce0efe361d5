#include "sordino/precond/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/epilogue.hpp"

namespace sordino {
namespace {

double bound_of_rows(const CsrView& A, i64 first, i64 last) {
  double bound = 0;
  for (i64 i = first; i < last; i++) {
    double diagonal = 0, sum = 0;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      sum += std::abs(A.values[k]);
      if (A.indices[k] == i) diagonal = A.values[k];
    }
    if (!(diagonal > 0))
      bad_argument("chebyshev needs a symmetric positive definite matrix, and the diagonal of row " + std::to_string(i) +
                   " is not positive: use precond jacobi or none");
    bound = std::max(bound, sum / diagonal);
  }
  return bound;
}

}  // namespace

double spectral_bound(const CsrView& A) {
  std::mutex mutex;
  double bound = 0;
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    const double found = bound_of_rows(A, first, last);
    std::lock_guard lock(mutex);
    bound = std::max(bound, found);
  });
  return bound;
}

ChebyshevOperator::ChebyshevOperator(Rank& rank, const Operator& A, Vec inverse_diagonal, int degree, double bound,
                                     double interval)
    : A_(A),
      interval_(interval),
      D_(inverse_diagonal),
      Az_(A.result(rank, "A z")),
      iterates_{A.operand(rank, "z, even")},
      first_(rank.scalar("1/theta", 0)),
      none_(rank.scalar("chebyshev none", 0)) {
  if (degree > 1) {
    d_ = rank.vector("d", A.space());
    iterates_[1] = A.operand(rank, "z, odd");
  }
  for (int k = 0; k < degree; k++) {
    keep_.push_back(rank.scalar("chebyshev a", 0));
    add_.push_back(rank.scalar("chebyshev c", 0));
  }
  set_bound(rank, bound);
}

void ChebyshevOperator::set_bound(Rank& rank, double bound) const {
  const double least = bound / interval_, theta = (bound + least) / 2, delta = (bound - least) / 2, sigma = theta / delta;
  rank.set(first_, 1 / theta);
  double rho = 1 / sigma;
  for (std::size_t k = 0; k < keep_.size(); k++) {
    double next = 1 / (2 * sigma - rho);
    rank.set(keep_[k], next * rho);
    rank.set(add_[k], 2 * next / delta);
    rho = next;
  }
}

void ChebyshevOperator::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  apply_and_leave(rank, r, z, {});
  record_dots(rank, epilogue);
}

void ChebyshevOperator::apply_and_leave(Rank& rank, Vec r, Vec z, Vec left) const {
  with_numbers(A_.is_single(), [&]<class V>(V) {
    rank.run(chebyshev::First<V>{.c = first_, .r = r, .D = D_, .z = iterates_[0]});
    record_steps<V>(rank, r, z, {.count = keep_.size(), .left = left});
  });
}

void ChebyshevOperator::improve(Rank& rank, Vec b, Vec x, Vec to) const {
  const Steps steps{.count = keep_.size() - 1, .begin = (keep_.size() + 1) % 2, .has_d = true};
  const Scal a = none_, c = first_;
  rank.push_last(x);
  A_.apply(rank, x, Az_);
  with_numbers(A_.is_single(), [&]<class V>(V) {
    if (steps.count == 0) {
      rank.run(chebyshev::LastStep<V>{.a = a, .c = c, .r = b, .Az = Az_, .z = x, .d = Vec{}, .D = D_, .z_new = to});
      return;
    }
    const Vec next = iterates_[steps.begin];
    rank.run(chebyshev::FirstStep<V>{.a = a, .c = c, .r = b, .Az = Az_, .z = x, .D = D_, .d = d_, .z_new = next});
    record_steps<V>(rank, b, to, steps);
  });
}

template <class V>
void ChebyshevOperator::record_steps(Rank& rank, Vec r, Vec z, const Steps& steps) const {
  for (std::size_t k = 0; k < steps.count; k++) {
    const bool is_last = k + 1 == steps.count;
    const Vec now = iterates_[(steps.begin + k) % 2], next = is_last ? z : iterates_[(steps.begin + k + 1) % 2];
    const Vec d = k > 0 || steps.has_d ? d_ : Vec{}, left = steps.left;
    const Scal a = keep_[k], c = add_[k];
    rank.push_last(now);
    A_.apply(rank, now, Az_);
    if (is_last && left.id >= 0)
      rank.run(
          chebyshev::LeavingStep<V>{.a = a, .c = c, .r = r, .Az = Az_, .z = now, .d = d, .D = D_, .left = left, .z_new = next});
    else if (is_last)
      rank.run(chebyshev::LastStep<V>{.a = a, .c = c, .r = r, .Az = Az_, .z = now, .d = d, .D = D_, .z_new = next});
    else if (d.id < 0)
      rank.run(chebyshev::FirstStep<V>{.a = a, .c = c, .r = r, .Az = Az_, .z = now, .D = D_, .d = d_, .z_new = next});
    else
      rank.run(chebyshev::Step<V>{.a = a, .c = c, .r = r, .Az = Az_, .z = now, .D = D_, .d = d_, .z_new = next});
  }
}

}  // namespace sordino
