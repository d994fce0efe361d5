// Triangles in paper 004's blocks with their solutions, for tests of what solves with them.
#pragma once
#include <limits>
#include <utility>

#include "sordino/trsv/paper_factor.hpp"
#include "unit/trsv/triangles.hpp"

namespace paper_cases {

using namespace sordino;
using namespace sordino::trsv;

/// L x = b by substitution.
template <class V>
std::vector<V> substituted(const triangles::Columns& c, const std::vector<V>& values, bool unit, std::vector<V> x) {
  for (i64 j = 0; j < c.n; j++) {
    const i64 first = c.begin[std::size_t(j)];  // the diagonal
    if (!unit) x[std::size_t(j)] = x[std::size_t(j)] * reciprocal(values[std::size_t(first)]);
    for (i64 k = first + 1; k < c.begin[std::size_t(j) + 1]; k++) {
      V& to = x[std::size_t(c.rows[std::size_t(k)])];
      to = to - values[std::size_t(k)] * x[std::size_t(j)];
    }
  }
  return x;
}

/// Infinite where NaN is.
template <class V>
double error_of(const std::vector<V>& x, const std::vector<V>& wanted) {
  double worst = 0, most = 0;
  for (std::size_t i = 0; i < x.size(); i++) {
    const double off = magnitude(x[i] - wanted[i]);
    worst = off <= worst ? worst : off == off ? off : std::numeric_limits<double>::infinity();
    most = std::max(most, magnitude(wanted[i]));
  }
  return worst / most;
}

template <class V>
double tolerance() {
  return std::is_same_v<V, float> ? 2e-4 : 1e-11;
}

/// A triangle, its factor in the paper's blocks, and the solution.
template <class V>
struct Case {
  triangles::Columns c;
  std::vector<V> values, b, wanted;
  paper::Factor<V> factor;

  static Case make(const triangles::Columns& c, fresh::Random& random, i32 most_columns, bool unit = false) {
    std::vector<V> values = triangles::values_of<V>(c, random), b = triangles::vector_of<V>(c.n, random);
    paper::Factor<V> factor({c.pattern(), values.data(), unit}, find_supernodes(c.pattern(), {.always = 3}), most_columns);
    std::vector<V> wanted = substituted(c, values, unit, b);
    return {c, std::move(values), std::move(b), std::move(wanted), std::move(factor)};
  }
  std::vector<V> nothing() const { return std::vector<V>(b.size(), unknown<V>()); }
};

}  // namespace paper_cases
