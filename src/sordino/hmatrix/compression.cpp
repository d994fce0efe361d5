#include "sordino/hmatrix/compression.hpp"

#include <algorithm>
#include <cmath>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/aca.hpp"
#include "sordino/hmatrix/recompression.hpp"

namespace sordino::hmatrix {
namespace {

constexpr int most_tries = 4;  // of crosses in a block that is too large to be evaluated as a whole

template <class V>
Crosses<V> crosses(const Section<V>& block, Approximation kind, const CrossOptions& options, Crosses<V> begun = {}) {
  return kind == Approximation::aca ? aca(block, options, std::move(begun)) : aca_plus(block, options, std::move(begun));
}

/// The square of the error's norm, known or estimated, and the row of the entry that is off most.
struct Compared {
  double squared = 0, worst = -1;
  i32 row = 0;
};

template <class V>
Compared compare(const Section<V>& block, const Crosses<V>& found, u64 draws) {
  const Comparison entries(block.height(), block.width(), found.pivots(), draws);
  Compared all;
  const std::size_t some = std::size_t(entries.in_a_row());
  std::vector<i32> at(some), columns(some);
  std::vector<V> left(some);
  for (i64 first = 0; first < entries.count(); first += i64(some)) {
    const auto [i, j] = entries.at(first);
    at[0] = j, columns[0] = block.columns[std::size_t(j)];
    for (std::size_t c = 1; first == 0 && c < some; c++) {
      at[c] = entries.at(i64(c)).column;
      columns[c] = block.columns[std::size_t(at[c])];
    }
    block.generator.entries(block.rows.subspan(std::size_t(i), 1), columns, left.data());
    for (i32 k = 0; k < found.sum.rank; k++)
      for (std::size_t c = 0; c < some; c++) left[c] = left[c] - found.sum.u_of(k)[i] * found.sum.v_of(k)[at[c]];
    for (V x : left) {
      all.squared += entries.scale() * squared(x);
      if (squared(x) > all.worst) all.worst = squared(x), all.row = i;
    }
  }
  return all;
}

void require_finite(double square) {
  if (!std::isfinite(square)) bad_argument("the matrix has an entry that is not finite, or too large for its square");
}

/// Crosses from all entries: the pivot is the largest one that is left, and the error is known.
template <class V>
LowRank<V> full_crosses(const Section<V>& block, double tolerance, i32 most_rank) {
  LowRank<V> sum(block.height(), block.width());
  const std::size_t n = std::size_t(block.width());
  std::vector<V> left(std::size_t(block.height()) * n), column(std::size_t(block.height()));
  block.all(left.data());
  auto square_left = [&] {
    double s = 0;
    for (V x : left) s += squared(x);
    return s;
  };
  const double all = square_left(), enough = tolerance * tolerance * all;
  require_finite(all);
  while (square_left() > enough && sum.rank < std::min({most_rank, block.height(), block.width()})) {
    auto larger = [](V a, V b) { return magnitude(a) < magnitude(b); };
    const std::size_t at = std::size_t(std::max_element(left.begin(), left.end(), larger) - left.begin());
    const V* row = left.data() + at / n * n;
    const V pivot = left[at];
    for (std::size_t i = 0; i < column.size(); i++) column[i] = quotient(left[i * n + at % n], pivot);
    sum.append(column, {row, n});
    for (std::size_t i = 0; i < column.size(); i++)
      for (std::size_t j = 0; j < n; j++) left[i * n + j] = left[i * n + j] - column[i] * sum.v_of(sum.rank - 1)[j];
  }
  return sum;
}

/// norm_squared: the sum's.
template <class V>
Compressed<V> finished(LowRank<V> sum, int redone, double norm_squared, const CompressionOptions& o) {
  if (o.recompress) recompress(sum, share_of_the_rest * o.eps * std::sqrt(norm_squared));
  return {std::move(sum), redone};
}

template <class V>
Compressed<V> from_all(const Section<V>& block, double tolerance, int redone, const CompressionOptions& o) {
  LowRank<V> sum = full_crosses(block, tolerance, o.most_rank);
  const double norm_squared = o.recompress ? sum.norm_squared() : 0;
  return finished(std::move(sum), redone, norm_squared, o);
}

}  // namespace

Approximation approximation(const std::string& name) {
  if (name == "aca") return Approximation::aca;
  if (name == "aca+") return Approximation::aca_plus;
  if (name == "full") return Approximation::full;
  bad_argument("there is no compression '" + name + "': there are aca, aca+, full");
}

template <class V>
Compressed<V> compress(const Section<V>& block, const CompressionOptions& o, u64 seed) {
  const double asked = o.recompress || o.certify ? share_of_crosses * o.eps : o.eps;
  if (o.approximation == Approximation::full) return from_all(block, asked, 0, o);
  double eps = o.recompress || o.certify ? stop_rule_to_error * asked : asked;
  Crosses<V> found = crosses(block, o.approximation, {.eps = eps, .most_rank = o.most_rank});
  auto square_of_norm = [&] { return o.recompress || o.certify ? found.sum.norm_squared() : 0; };
  double norm_squared = square_of_norm();
  const bool small = i64(block.height()) * block.width() <= most_entries;
  int redone = 0;
  for (eps = asked; o.certify && found.sum.rank < o.most_rank && redone < most_tries; redone++) {
    const Compared error = compare(block, found, draws_of(seed, redone));
    require_finite(error.squared);
    if (error.squared <= asked * asked * norm_squared) break;
    if (redone > 0 && small) return from_all(block, asked, redone + 1, o);
    eps *= after_a_miss;
    found = crosses(block, o.approximation, {eps, error.row, o.most_rank}, std::move(found));
    norm_squared = square_of_norm();
  }
  return finished(std::move(found.sum), redone, norm_squared, o);
}

template Compressed<double> compress(const Section<double>&, const CompressionOptions&, u64);
template Compressed<Number> compress(const Section<Number>&, const CompressionOptions&, u64);

}  // namespace sordino::hmatrix
