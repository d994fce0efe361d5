#include "sordino/trsv/prediction.hpp"

#include <algorithm>
#include <numeric>
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
  const ModelOptions model = model_options(machine, direction, columns, 0, value_bytes);
  std::vector<std::size_t> ascending(ranks.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t(0));
  std::stable_sort(ascending.begin(), ascending.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  RanksChoice choice{.predicted = std::vector<RanksPrediction>(ranks.size()), .best = ascending.front()};
  for (std::size_t k : ascending) {
    PlanOptions with = options;
    with.ranks = ranks[k];
    Plan plan = make_plan(blocks, direction, value_bytes, with);
    choice.predicted[k] = {ranks[k], plan.count(), model_solve(blocks, plan, value_bytes, model)};
    const double enough = (1 - worth_more_ranks) * choice.taken().report.seconds;
    if (k != ascending.front() && choice.predicted[k].report.seconds > enough) continue;
    choice.best = k;
    choice.plan = std::move(plan);
  }
  return choice;
}

const RanksPrediction& RanksChoice::fastest() const {
  return *std::min_element(predicted.begin(), predicted.end(), [](const RanksPrediction& a, const RanksPrediction& b) {
    return std::tie(a.report.seconds, a.ranks) < std::tie(b.report.seconds, b.ranks);
  });
}

std::vector<int> ranks_to_try(int there) {
  std::vector<int> ranks;
  for (int r = 1; r < there; r *= 2) ranks.push_back(r);
  ranks.push_back(there);
  return ranks;
}

}  // namespace sordino::trsv
