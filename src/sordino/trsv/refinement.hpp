// Iterative refinement with a triangle as it was given, and whether solves want it.
#pragma once
#include <functional>
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

/// x from b, [n][columns], perhaps in place.
template <class V>
using SolveColumns = std::function<void(const V* b, V* x, i64 columns)>;

/// x += solve(b - L x), at most so many times: a step that does not lessen the backward error of the worst column is taken
/// back, and is the last. Cost: a pass over L, and of each step a solve and two.
template <class V>
Refinement refine(const TriangleView<V>& L, How how, const V* b, V* x, i64 columns, int most_steps,
                  const SolveColumns<V>& solve);

/// How many steps solves want, at most 3: as many as leave each column of a trial a backward error of 16 roundings, or of four
/// times that of substitution with the same b. The trial is L x = L * 1, where inverting an ill-conditioned block costs most,
/// and seven right-hand sides of random numbers, the same in every run. Cost: a solve with eight columns and two passes over L;
/// where that leaves more than 16 roundings, substitution and another pass; and those of each step.
template <class V>
int refinements_wanted(const TriangleView<V>& L, How how, const SolveColumns<V>& solve);

}  // namespace trsv
}  // namespace sordino
