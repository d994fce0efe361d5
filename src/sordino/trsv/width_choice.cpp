#include "sordino/trsv/width_choice.hpp"

#include <algorithm>
#include <cstdio>

namespace sordino::trsv {
namespace {

i32 widest(const Supernodes& nodes) {
  i32 most = 1;
  for (i32 s = 0; s < nodes.count(); s++) most = std::max(most, nodes.width(s));
  return most;
}

}  // namespace

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
  return text;
}

std::string WidthChoice::said() const {
  const WidthPrediction& taken = predicted[best];
  std::string text = "width " + std::to_string(taken.width) + ": ";
  const std::string few = "wider ones have fewer blocks than there are ranks";
  if (predicted.size() == 1) return text + (too_few_blocks ? few : "no supernode is wider");
  text += "both ways are predicted to take " + milliseconds(taken.seconds);
  for (const WidthPrediction& p : predicted)
    if (p.width != taken.width) text += ", " + milliseconds(p.seconds) + " with " + std::to_string(p.width);
  return too_few_blocks ? text + "; " + few : text;
}

WidthChoice choose_width(const Supernodes& nodes, i64 value_bytes, const Machine& machine, const PlanOptions& options) {
  const i32 most = widest(nodes);
  WidthChoice choice;
  for (const i32 width : widths_to_try) {
    const bool first = choice.predicted.empty();
    if (!first && choice.predicted.back().width >= most) break;
    if (first && width >= most) return {.predicted = {{width, 0}}};
    const Blocks blocks = cut(nodes, width);
    choice.too_few_blocks = !first && blocks.count() < options.ranks;
    if (choice.too_few_blocks) break;
    WidthPrediction tried{width, 0};
    for (const Direction way : {Direction::forward, Direction::backward}) {
      const Plan plan = make_plan(blocks, way, value_bytes, options);
      tried.seconds += model_solve(blocks, plan, value_bytes, model_options(machine, way)).seconds;
    }
    choice.predicted.push_back(tried);
    const double enough = (1 - worth_wider_blocks) * choice.predicted[choice.best].seconds;
    if (tried.seconds <= enough) choice.best = choice.predicted.size() - 1;
  }
  return choice;
}

}  // namespace sordino::trsv
