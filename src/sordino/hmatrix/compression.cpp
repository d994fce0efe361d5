#include "sordino/hmatrix/compression.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/aca.hpp"
#include "sordino/hmatrix/recompression.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 most_entries = i64(1) << 24;  // of a block that is evaluated as a whole: 128 MiB, 256 of complex ones
constexpr int most_tries = 4;               // of crosses in a larger one

template <class V>
LowRank<V> crosses(const Section<V>& block, Approximation kind, const CrossOptions& options, LowRank<V> begun = {}) {
  return kind == Approximation::aca ? aca(block, options, std::move(begun)) : aca_plus(block, options, std::move(begun));
}

/// The square of the error's norm as entries drawn at random show it, and the row of them that is worst.
struct Sampled {
  double squared = 0, worst = -1;
  i32 row = 0;
};

template <class V>
Sampled sample(const Section<V>& block, const LowRank<V>& sum, std::mt19937_64& draw) {
  Sampled found;
  const double share = double(block.height()) * block.width() / (checked_rows * checked_columns);
  for (int r = 0; r < checked_rows; r++) {
    const i32 i = i32(draw() % u64(block.height()));
    i32 at[checked_columns], columns[checked_columns];
    V entries[checked_columns];
    double of_row = 0;
    for (int c = 0; c < checked_columns; c++) {
      at[c] = i32(draw() % u64(block.width()));
      columns[c] = block.columns[std::size_t(at[c])];
    }
    block.generator.entries(block.rows.subspan(std::size_t(i), 1), columns, entries);
    for (int c = 0; c < checked_columns; c++) of_row += squared(entries[c] - sum.entry(i, at[c]));
    if (of_row > found.worst) found.worst = of_row, found.row = i;
    found.squared += share * of_row;
  }
  return found;
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

}  // namespace

Approximation approximation(const std::string& name) {
  if (name == "aca") return Approximation::aca;
  if (name == "aca+") return Approximation::aca_plus;
  if (name == "full") return Approximation::full;
  bad_argument("there is no compression '" + name + "': there are aca, aca+, full");
}

template <class V>
Compressed<V> compress(const Section<V>& block, const CompressionOptions& o, u64 seed) {
  Compressed<V> done;
  const double asked = o.recompress || o.certify ? share_of_crosses * o.eps : o.eps;
  if (o.approximation == Approximation::full) {
    done.sum = full_crosses(block, asked, o.most_rank);
  } else {
    const double eps = o.recompress || o.certify ? stop_rule_to_error * asked : asked;
    done.sum = crosses(block, o.approximation, {.eps = eps, .most_rank = o.most_rank});
  }
  std::mt19937_64 draw(seed);
  double norm_squared = o.recompress || o.certify ? done.sum.norm_squared() : 0, eps = asked;
  for (bool last = o.approximation == Approximation::full; o.certify && !last && done.sum.rank < o.most_rank;) {
    const Sampled error = sample(block, done.sum, draw);
    require_finite(error.squared);
    if (error.squared <= asked * asked * norm_squared) break;
    const bool small = i64(block.height()) * block.width() <= most_entries;
    last = done.redone++ > 0 && (small || done.redone == most_tries);
    eps *= after_a_miss;
    done.sum = last && small ? full_crosses(block, asked, o.most_rank)
                             : crosses(block, o.approximation, {eps, error.row, o.most_rank}, std::move(done.sum));
    norm_squared = done.sum.norm_squared();
  }
  if (o.recompress) recompress(done.sum, share_of_the_rest * o.eps * std::sqrt(norm_squared));
  return done;
}

template Compressed<double> compress(const Section<double>&, const CompressionOptions&, u64);
template Compressed<Number> compress(const Section<Number>&, const CompressionOptions&, u64);

}  // namespace sordino::hmatrix
