// The order of a plan's tasks: that in which they would begin on workers that always take the most urgent one that can begin.
#pragma once
#include <functional>

#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// Numbers the tasks anew, with what belongs to them, and makes the queues. Tasks with the longest way behind them are the most
/// urgent. `bytes`: that a task reads.
Plan in_schedule(Plan plan, const PlanOptions& options, const std::function<double(const Task&)>& bytes);

}  // namespace sordino::trsv
