#include "sordino/trsv/refinement.hpp"

#include <algorithm>
#include <utility>

#include "sordino/trsv/substitution.hpp"
#include "sordino/trsv/trial.hpp"

namespace sordino::trsv {
namespace {

bool are_within(const std::vector<double>& errors, const std::vector<double>& enough) {
  return std::equal(errors.begin(), errors.end(), enough.begin(), [](double error, double most) { return error <= most; });
}

double worst(const std::vector<double>& errors) { return *std::max_element(errors.begin(), errors.end()); }

/// As refine(), of an x with these errors, until each column has at most `enough`.
template <class V>
Refinement refine_until(const TriangleView<V>& L, How how, const V* b, V* x, std::vector<double> errors, int most_steps,
                        const std::vector<double>& enough, const SolveColumns<V>& solve, int threads) {
  const i64 columns = i64(errors.size());
  std::vector<V> better(std::size_t(L.pattern.n * columns));
  Refinement done{{worst(errors)}};
  while (done.steps() < most_steps && !are_within(errors, enough)) {
    residual(L, how, b, x, better.data(), columns, threads);
    solve(better.data(), better.data(), columns);
    for (std::size_t k = 0; k < better.size(); k++) better[k] = x[k] + better[k];
    errors = backward_errors(L, how, b, better.data(), columns, threads);
    if (!(worst(errors) < done.errors.back())) break;
    std::copy(better.begin(), better.end(), x);
    done.errors.push_back(worst(errors));
  }
  return done;
}

}  // namespace

template <class V>
SolveColumns<V> one_by_one(const SolveColumns<V>& solve, i64 n) {
  return [solve, n](const V* b, V* x, i64 columns) {
    std::vector<V> column(static_cast<std::size_t>(n));
    for (i64 c = 0; c < columns; c++) {
      for (i64 i = 0; i < n; i++) column[std::size_t(i)] = b[i * columns + c];
      solve(column.data(), column.data(), 1);
      for (i64 i = 0; i < n; i++) x[i * columns + c] = column[std::size_t(i)];
    }
  };
}

template <class V>
Refinement refine(const TriangleView<V>& L, How how, const V* b, V* x, i64 columns, int most_steps,
                  const SolveColumns<V>& solve, int threads) {
  return refine_until(L, how, b, x, backward_errors(L, how, b, x, columns, threads), most_steps,
                      std::vector<double>(std::size_t(columns), 0.0), solve, threads);
}

template <class V>
int refinements_wanted(const TriangleView<V>& L, How how, const SolveColumns<V>& solve, int threads) {
  constexpr i64 columns = trial_columns;
  const std::vector<V> b = trial_of(L, how, threads);
  std::vector<V> x(b.size());
  solve(b.data(), x.data(), columns);
  std::vector<double> errors = backward_errors(L, how, b.data(), x.data(), columns, threads);
  std::vector<double> enough(errors.size(), good_roundings * rounding_of<V>);
  if (are_within(errors, enough)) return 0;
  std::vector<V> substituted(b.size());
  substitute(L, how, b.data(), substituted.data(), columns);
  const std::vector<double> theirs = backward_errors(L, how, b.data(), substituted.data(), columns, threads);
  for (std::size_t c = 0; c < enough.size(); c++)  // infinite where substitution overflows, too: nobody does better
    enough[c] = std::max(enough[c], most_of_substitution * theirs[c]);
  return refine_until(L, how, b.data(), x.data(), std::move(errors), most_refinements, enough, solve, threads).steps();
}

template SolveColumns<float> one_by_one(const SolveColumns<float>&, i64);
template SolveColumns<double> one_by_one(const SolveColumns<double>&, i64);
template SolveColumns<Number> one_by_one(const SolveColumns<Number>&, i64);
template Refinement refine(const TriangleView<float>&, How, const float*, float*, i64, int, const SolveColumns<float>&, int);
template Refinement refine(const TriangleView<double>&, How, const double*, double*, i64, int, const SolveColumns<double>&,
                           int);
template Refinement refine(const TriangleView<Number>&, How, const Number*, Number*, i64, int, const SolveColumns<Number>&,
                           int);
template int refinements_wanted(const TriangleView<float>&, How, const SolveColumns<float>&, int);
template int refinements_wanted(const TriangleView<double>&, How, const SolveColumns<double>&, int);
template int refinements_wanted(const TriangleView<Number>&, How, const SolveColumns<Number>&, int);

}  // namespace sordino::trsv
