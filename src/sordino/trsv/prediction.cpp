#include "sordino/trsv/prediction.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino::trsv {

RanksChoice choose_ranks(const Blocks& blocks, Direction direction, i64 value_bytes, const Machine& machine,
                         const std::vector<int>& ranks, i64 columns, const PlanOptions& options) {
  if (ranks.empty()) bad_argument("a prediction of triangular solves is for one number of ranks or more");
  if (const int most = *std::max_element(ranks.begin(), ranks.end()); most > blocks.count())
    bad_argument("there are more ranks, " + std::to_string(most) + ", than the triangle has blocks, " +
                 std::to_string(blocks.count()));
  const ModelOptions model = model_options(machine, direction, columns);
  RanksChoice choice;
  for (int some : ranks) {
    PlanOptions with = options;
    with.ranks = some;
    Plan plan = make_plan(blocks, direction, value_bytes, with);
    choice.predicted.push_back({some, plan.count(), model_solve(blocks, plan, value_bytes, model)});
    const RanksPrediction &found = choice.predicted.back(), &best = choice.fastest();
    if (choice.predicted.size() > 1 && std::tie(found.report.seconds, found.ranks) >= std::tie(best.report.seconds, best.ranks))
      continue;
    choice.best = choice.predicted.size() - 1;
    choice.plan = std::move(plan);
  }
  return choice;
}

std::vector<int> ranks_to_try(int there) {
  std::vector<int> ranks;
  for (int r = 1; r < there; r *= 2) ranks.push_back(r);
  ranks.push_back(there);
  return ranks;
}

}  // namespace sordino::trsv
