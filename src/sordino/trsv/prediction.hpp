// How long a solve takes on 1, 2, ... ranks of a described machine, from a factor's structure alone: each plan is made, and
// carried out on a virtual clock.
#pragma once
#include <vector>

#include "sordino/trsv/model_solve.hpp"

namespace sordino::trsv {

struct RanksPrediction {
  int ranks = 1;
  i32 tasks = 0;
  ModelReport report = {};
};

/// Of the time that fewer ranks are predicted to take, more of them must save so much: the model errs by more than that, and
/// what they take from others, it does not see.
constexpr double worth_more_ranks = 0.05;

struct RanksChoice {
  std::vector<RanksPrediction> predicted;  // [ranks that were asked for]
  std::size_t best = 0;                    // of the numbers in ascending order the last one that saves enough
  Plan plan = {};                          // its plan

  const RanksPrediction& taken() const { return predicted[best]; }
  const RanksPrediction& fastest() const;  // of equals the one with the fewest ranks
};

/// Cost: for each of `ranks` a plan, and its tasks, needs and messages times a logarithm. Throws bad_argument where there is
/// none, and for what make_plan refuses; `options.ranks` is not looked at.
RanksChoice choose_ranks(const Blocks& blocks, Direction direction, i64 value_bytes, const Machine& machine,
                         const std::vector<int>& ranks, i64 columns = 1, const PlanOptions& options = {});

/// 1, 2, 4, ... up to `there`, and that.
std::vector<int> ranks_to_try(int there);

}  // namespace sordino::trsv
