// Iterative refinement with a triangle as it was given, and whether solves want it.
#pragma once
#include <functional>
#include <type_traits>
#include <vector>

#include "sordino/trsv/residual.hpp"

namespace sordino {

/// What refining has done: the backward error of the worst column before it and after each step that was kept.
struct Refinement {
  std::vector<double> errors;
  int steps() const { return int(errors.size()) - 1; }
};

namespace trsv {

/// A backward error that is as good as any, in roundings of V; and how much larger than that of substitution one may be that
/// is not. What is asked of solves by inverted blocks is ten times substitution's: a trial leaves room for the right-hand sides
/// that it does not try.
inline constexpr double good_roundings = 16, most_of_substitution = 4;
/// Steps of refinement that are tried.
inline constexpr int most_refinements = 3;

/// A rounding of V.
template <class V>
constexpr double rounding_of = std::is_same_v<V, float> ? 0x1p-24 : 0x1p-53;

/// Whether that many steps make solves by blocks of this growth (Factor::growth) good, of x whose entries are alike: each
/// lessens an error by that many roundings.
template <class V>
bool is_refinable(double growth) {
  const double left = growth * rounding_of<V>;
  return left * left * left * left <= good_roundings * rounding_of<V>;
}
/// Whether a growth is so large that no trial is believed which wants fewer.
template <class V>
bool wants_all_steps(double growth) {
  return growth * growth * rounding_of<V> > 1;
}

/// x from b, [n][columns], perhaps in place.
template <class V>
using SolveColumns = std::function<void(const V* b, V* x, i64 columns)>;

/// The same solves, of n rows, for one column after the other.
template <class V>
SolveColumns<V> one_by_one(const SolveColumns<V>& solve, i64 n);

/// x += solve(b - L x), at most so many times: a step that does not lessen the backward error of the worst column is taken
/// back, and is the last. Cost: a pass over L, and of each step a solve and two.
template <class V>
Refinement refine(const TriangleView<V>& L, How how, const V* b, V* x, i64 columns, int most_steps,
                  const SolveColumns<V>& solve, int threads = 1);

/// How many steps solves want, at most most_refinements: as many as leave each column of a trial a backward error of 16
/// roundings, or of four times that of substitution with the same b. What is tried: trial_of. Cost: a solve with four columns,
/// on GPUs four of one, four plain passes over L and one of four columns; where that leaves more than 16 roundings,
/// substitution and another pass; and those of each step.
template <class V>
int refinements_wanted(const TriangleView<V>& L, How how, const SolveColumns<V>& solve, int threads = 1);

}  // namespace trsv
}  // namespace sordino
