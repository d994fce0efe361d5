#include "sordino/trsv/saved_plans.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/factor.hpp"

namespace sordino::trsv {
namespace {

[[noreturn]] void refuse(const std::string& what) { bad_argument("the plans " + what + ": make new plans, and save them"); }

constexpr std::size_t words_of_task = 5;

/// Sizes and ranges, so that check_plan can look at the rest.
void check_ranges(const SavedPlan& s, const Blocks& blocks, int ranks) {
  const std::size_t count = s.tasks.size() / words_of_task;
  if (s.tasks.size() % words_of_task || s.need_begin.size() != count + 1 || s.readers.size() != count ||
      s.owner.size() != std::size_t(blocks.count()) || s.seconds.size() != 1 || s.need_begin[0] != 0 ||
      s.need_begin[count] != i64(s.needs.size()))
    refuse("have arrays that do not belong together");
  for (std::size_t t = 0; t < count; t++) {
    if (s.need_begin[t] > s.need_begin[t + 1]) refuse("have arrays that do not belong together");
    const i32 kind = s.tasks[words_of_task * t], rank = s.tasks[words_of_task * t + 4];
    if (kind < 0 || kind > i32(Task::Kind::subtrees)) refuse("have a task of a kind that there is not");
    if (rank < 0 || rank >= ranks || u64(s.readers[t]) >> ranks) refuse("have ranks that there are not");
  }
  for (i32 rank : s.owner)
    if (rank < 0 || rank >= ranks) refuse("have ranks that there are not");
}

/// That tasks are as make_plan cuts them, which GPUs have made room for.
void check_sizes(const Plan& plan, const Blocks& blocks, i64 value_bytes, const PlanOptions& o) {
  const auto sums = [&](const Task& t) {
    i64 bytes = values_of(blocks, t) * value_bytes;
    for (i32 k = t.first; k < t.end; k++) bytes += bytes_beside_values(blocks.blocks[std::size_t(k)]);
    return bytes;
  };
  for (const Task& t : plan.tasks) {
    bool fits = true;
    if (t.kind == Task::Kind::strips)  // on the way back it is a part of its block, whose size check_plan has looked at
      fits = plan.direction == Direction::backward || t.end == t.first + 1 ||
             (values_of(blocks, t) * value_bytes <= o.task_bytes &&
              (t.end - t.first) * blocks.blocks[std::size_t(t.block)].strip_rows <= most_rows_of_task);
    else if (t.kind == Task::Kind::columns)
      fits = t.first % columns_together == 0 && t.end - t.first <= most_columns_of_task;
    else
      fits = t.end == t.block + 1 && t.end - t.first <= o.subtree_blocks && sums(t) <= o.subtree_bytes;
    if (!fits) refuse("have a task that is too large");
  }
}

}  // namespace

std::vector<i64> facts_of(const LowerPattern& pattern, i64 value_bytes, i32 width, const PlanOptions& o, int threads) {
  return {
      i64(print_of(pattern, threads)), pattern.n, value_bytes, width, o.ranks, o.task_bytes, o.subtree_bytes, o.subtree_blocks};
}

void require_facts(const std::vector<i64>& saved, const std::vector<i64>& wanted) {
  if (saved.size() != wanted.size()) refuse("do not say what they are for");
  if (saved[0] != wanted[0] || saved[1] != wanted[1]) refuse("are those of another pattern");
  const std::pair<std::size_t, const char*> named[] = {{2, "numbers of so many bytes"}, {3, "width"}, {4, "ranks"}};
  for (const auto& [k, name] : named)
    if (saved[k] != wanted[k])
      bad_argument("the plans were made for " + std::string(name) + " = " + std::to_string(saved[k]) + ", not " +
                   std::to_string(wanted[k]) + ": ask for that, or make new plans, and save them");
  if (saved != wanted) refuse("have tasks of other sizes than this program makes");
}

bool are_by_rows(const SavedPlans& plans) {
  if (plans.nodes.n > 0) return false;
  each_array(plans, [](const std::string& name, const auto& array) {
    if (name != "facts" && !array.empty()) refuse("have no supernodes, and " + name + " nevertheless");
  });
  return true;
}

SavedPlan saved(const Plan& plan) {
  SavedPlan s;
  for (const Task& t : plan.tasks)
    for (i32 word : {i32(t.kind), t.block, t.first, t.end, t.rank}) s.tasks.push_back(word);
  s.need_begin = plan.need_begin;
  s.needs = plan.needs;
  s.readers = plan.readers;
  s.owner = plan.owner;
  s.seconds = {plan.seconds};
  return s;
}

std::optional<Plan> restored(const SavedPlan& s, const Blocks& blocks, Direction direction, i64 value_bytes,
                             const PlanOptions& options) {
  if (s.tasks.empty()) return {};
  check_ranges(s, blocks, options.ranks);
  Plan plan;
  plan.direction = direction;
  plan.ranks = options.ranks;
  plan.queues.resize(std::size_t(options.ranks));
  for (std::size_t k = 0; k < s.tasks.size(); k += words_of_task) {
    const i32* const word = s.tasks.data() + k;
    plan.queues[std::size_t(word[4])].push_back(plan.count());
    plan.tasks.push_back({.kind = Task::Kind(word[0]), .block = word[1], .first = word[2], .end = word[3], .rank = word[4]});
  }
  plan.need_begin = s.need_begin;
  plan.needs = s.needs;
  plan.readers = s.readers;
  plan.owner = s.owner;
  plan.seconds = s.seconds[0];
  for (std::size_t t = 0; t < plan.tasks.size(); t++)
    if (!std::is_sorted(s.needs.begin() + s.need_begin[t], s.needs.begin() + s.need_begin[t + 1]))
      refuse("have needs in a wrong order");
  try {
    check_plan(blocks, plan);
  } catch (const Error& wrong) {
    refuse(std::string("are wrong (") + wrong.what() + ")");
  }
  check_sizes(plan, blocks, value_bytes, options);
  return plan;
}

}  // namespace sordino::trsv
