// Tasks of threads that are late at random, so that they end in orders that seldom come by themselves.
#pragma once
#include <functional>

#include "sordino/base/types.hpp"

namespace sordino::trsv {

/// Seconds by which a task is held up: three of four by none, the others by up to 100 us. A function of its arguments.
double lateness(u64 seed, i32 task);

/// For `before_task` of a solve: holds the thread up that computes the task, which others wait for meanwhile, and gives its
/// core away. No bits depend on it.
std::function<void(i32 task)> late_tasks(u64 seed);

}  // namespace sordino::trsv
