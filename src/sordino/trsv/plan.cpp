#include "sordino/trsv/plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/plan_owners.hpp"
#include "sordino/trsv/plan_schedule.hpp"
#include "sordino/trsv/way_back.hpp"

namespace sordino::trsv {
namespace {

void validate(const PlanOptions& o) {
  if (o.ranks < 1 || o.ranks > most_ranks)
    bad_argument("a triangular solve has 1 to " + std::to_string(most_ranks) + " ranks, and " + std::to_string(o.ranks) +
                 " were asked for");
  if (o.workers < 1) bad_argument("a rank of a triangular solve has one worker or more");
  if (o.task_bytes < 1 || o.subtree_bytes < 0) bad_argument("tasks of a triangular solve have one byte or more");
}

/// Tasks in the order of their blocks, before they are scheduled.
class Planner {
 public:
  Planner(const Blocks& blocks, Direction direction, i64 value_bytes, const PlanOptions& options)
      : blocks_(blocks), forward_(direction == Direction::forward), value_bytes_(value_bytes), options_(options) {
    plan_.direction = direction;
    plan_.ranks = options.ranks;
    plan_.owner = owners_of(blocks, options.ranks, options.subtree_bytes / value_bytes);
    sizes_ = sizes_of(blocks);
    make_tasks();
    find_needs();
    find_readers();
  }
  /// With the owners and subtrees of another plan, and long tasks.
  Planner(const Blocks& blocks, const Plan& plan, i64 value_bytes, const PlanOptions& options)
      : blocks_(blocks), forward_(true), value_bytes_(value_bytes), options_(options), near_bytes_(PlanOptions().task_bytes) {
    plan_.ranks = plan.ranks;
    plan_.owner = plan.owner;
    make_long_tasks(plan);
    find_needs();
    find_readers();
  }

  Plan scheduled() {
    return in_schedule(std::move(plan_), options_, [&](const Task& t) { return double(values_of(blocks_, t) * value_bytes_); });
  }

 private:
  const Block& block(i32 k) const { return blocks_.blocks[std::size_t(k)]; }
  i32 parent(i32 k) const { return blocks_.parent[std::size_t(k)]; }
  i32 owner(i32 k) const { return plan_.owner[std::size_t(k)]; }

  // --- tasks --------------------------------------------------------------------------------------------------------------
  void make_tasks() {
    std::vector<i64> bytes;
    for (i32 k = 0; k < blocks_.count(); k++)
      bytes.push_back(sizes_[std::size_t(k)] * value_bytes_ + bytes_beside_values(block(k)));
    const std::vector<i64> sums = sums_of_subtrees(blocks_, bytes);
    std::vector<char> of_one_rank(std::size_t(blocks_.count()), 1);
    for (i32 k = 0; k < blocks_.count(); k++)
      if (parent(k) != no_parent && (!of_one_rank[std::size_t(k)] || owner(k) != owner(parent(k))))
        of_one_rank[std::size_t(parent(k))] = 0;
    auto is_small = [&](i32 k) {
      return of_one_rank[std::size_t(k)] && sums[std::size_t(k)] <= options_.subtree_bytes &&
             k - blocks_.first[std::size_t(k)] < options_.subtree_blocks;
    };
    std::vector<i32> root(std::size_t(blocks_.count()), no_parent);  // of the largest small subtree around a block
    for (i32 k = blocks_.count(); k-- > 0;) {
      if (parent(k) != no_parent) root[std::size_t(k)] = root[std::size_t(parent(k))];
      if (root[std::size_t(k)] == no_parent && is_small(k)) root[std::size_t(k)] = k;
    }
    tasks_of_.resize(std::size_t(blocks_.count()));
    for (i32 k = 0; k < blocks_.count(); k++) {
      if (root[std::size_t(k)] == no_parent)
        forward_ ? add_strips(k) : add_parts_and_columns(k);
      else
        add_to_subtrees(k, root[std::size_t(k)], sums);
    }
  }

  void make_long_tasks(const Plan& plan) {
    std::vector<const Task*> subtrees(std::size_t(blocks_.count()), nullptr);  // that begin with a block
    for (const Task& t : plan.tasks)
      if (t.kind == Task::Kind::subtrees) subtrees[std::size_t(t.first)] = &t;
    tasks_of_.resize(std::size_t(blocks_.count()));
    for (i32 k = 0; k < blocks_.count();) {
      const Task* const t = subtrees[std::size_t(k)];
      if (!t) {
        add_strips(k++);
        continue;
      }
      plan_.tasks.push_back(*t);
      for (; k < t->end; k++) tasks_of_[std::size_t(k)] = {i32(plan_.tasks.size()) - 1, i32(plan_.tasks.size())};
    }
  }

  /// Siblings' subtrees are one task as long as that is small.
  void add_to_subtrees(i32 k, i32 root, const std::vector<i64>& sums) {
    if (k == blocks_.first[std::size_t(root)]) {
      const i64 bytes = sums[std::size_t(root)];
      const Task* last = plan_.tasks.empty() ? nullptr : &plan_.tasks.back();
      const bool joins = last && last->kind == Task::Kind::subtrees && last->end == k && parent(last->block) == parent(root) &&
                         owner(last->block) == owner(root) && open_bytes_ + bytes <= options_.subtree_bytes &&
                         root - last->first < options_.subtree_blocks;
      open_bytes_ = bytes + (joins ? open_bytes_ : 0);
      if (!joins)
        plan_.tasks.push_back({.kind = Task::Kind::subtrees, .block = root, .first = k, .end = root + 1, .rank = owner(root)});
      else
        plan_.tasks.back().block = root, plan_.tasks.back().end = root + 1;
    }
    tasks_of_[std::size_t(k)] = {i32(plan_.tasks.size()) - 1, i32(plan_.tasks.size())};
  }

  void add(Task::Kind kind, i32 k, i32 first, i32 end) {
    plan_.tasks.push_back({.kind = kind, .block = k, .first = first, .end = end, .rank = owner(k)});
    tasks_of_[std::size_t(k)].end++;
  }

  void add_strips(i32 k) {
    const Block& b = block(k);
    tasks_of_[std::size_t(k)] = {i32(plan_.tasks.size()), i32(plan_.tasks.size())};
    const StripRange near = near_bytes_ > 0 ? blocks_.near[std::size_t(k)] : StripRange{};
    auto is_near = [&](i32 s) { return near.first <= s && s < near.end; };
    i64 bytes = 0;
    for (i32 s = 0, first = 0; s < b.strips(); s++) {
      bytes += strip_of(b, s).size() * value_bytes_;
      const i64 most = is_near(s) ? std::min(near_bytes_, options_.task_bytes) : options_.task_bytes;
      if (s + 1 < b.strips() && bytes + strip_of(b, s + 1).size() * value_bytes_ <= most && is_near(s) == is_near(s + 1) &&
          (s + 2 - first) * b.strip_rows <= most_rows_of_task)
        continue;
      add(Task::Kind::strips, k, std::exchange(first, s + 1), s + 1);
      bytes = 0;
    }
  }

  /// A sum of each part, and columns of which the near strips have so many bytes.
  void add_parts_and_columns(i32 k) {
    const Block& b = block(k);
    tasks_of_[std::size_t(k)] = {i32(plan_.tasks.size()), i32(plan_.tasks.size())};
    for (i32 part = blocks_.part_begin[std::size_t(k)]; part < blocks_.part_begin[std::size_t(k) + 1]; part++)
      add(Task::Kind::strips, k, blocks_.parts[std::size_t(part)].first, blocks_.parts[std::size_t(part)].end);
    const i64 of_column = near_values_of_column(blocks_, k) * value_bytes_;
    const i64 fit = of_column > 0 ? options_.task_bytes / of_column : most_columns_of_task;
    const i64 most = std::clamp(fit / columns_together * columns_together, columns_together, most_columns_of_task);
    const i64 tasks = (b.width + most - 1) / most;  // alike, rather than full ones and a rest
    const i64 some = ((b.width + tasks - 1) / tasks + columns_together - 1) / columns_together * columns_together;
    for (i64 first = 0; first < b.width; first += some)
      add(Task::Kind::columns, k, i32(first), i32(std::min<i64>(first + some, b.width)));
  }

  // --- needs --------------------------------------------------------------------------------------------------------------
  void find_needs() {
    plan_.need_begin.assign(1, 0);
    forward_ ? find_children() : find_writers();
    for (i32 t = 0; t < i32(plan_.tasks.size()); t++) {
      found_.clear();
      forward_ ? need_children(plan_.tasks[std::size_t(t)]) : need_writers(plan_.tasks[std::size_t(t)]);
      std::sort(found_.begin(), found_.end());
      found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
      plan_.needs.insert(plan_.needs.end(), found_.begin(), found_.end());
      plan_.need_begin.push_back(i64(plan_.needs.size()));
    }
  }

  void find_children() {
    children_.resize(std::size_t(blocks_.count()));
    for (i32 k = 0; k < blocks_.count(); k++)
      if (parent(k) != no_parent) children_[std::size_t(parent(k))].push_back(k);
  }

  /// The tasks with sums for its columns or for its strips' rows.
  void need_children(const Task& t) {
    if (t.kind == Task::Kind::subtrees) return;
    const Block& b = block(t.block);
    const i32 begin = t.first * b.strip_rows, end = std::min(t.end * b.strip_rows, b.front);
    for (i32 c : children_[std::size_t(t.block)])
      for (i32 u = tasks_of_[std::size_t(c)].begin; u < tasks_of_[std::size_t(c)].end; u++)
        if (has_sums_for(plan_.tasks[std::size_t(u)], c, b, begin, end)) found_.push_back(u);
  }

  /// Whether task u has sums of block c for columns of its parent b, or for rows begin, ..., end - 1 of b's front.
  bool has_sums_for(const Task& u, i32 c, const Block& b, i32 begin, i32 end) const {
    const Block& child = block(c);
    i32 first = child.width, last = child.front;
    if (u.kind == Task::Kind::strips) {
      first = std::max(first, u.first * child.strip_rows);
      last = std::min(last, u.end * child.strip_rows);
    }
    auto has = [&](i32 from, i32 to) {  // rows of b's front
      const i32* const rows = blocks_.rows.data() + child.rows;
      const i32* const found = std::lower_bound(rows + first, rows + last, blocks_.rows[std::size_t(b.rows + from)]);
      return from < to && found < rows + last && *found <= blocks_.rows[std::size_t(b.rows + to - 1)];
    };
    return first < last && (has(0, b.width) || has(begin, end));
  }

  /// Which tasks compute x of each column.
  void find_writers() {
    writer_.resize(std::size_t(blocks_.n));
    auto write = [&](i32 k, i32 first, i32 end, i32 t) {
      std::fill_n(writer_.begin() + block(k).column + first, end - first, t);
    };
    for (i32 t = 0; t < plan_.count(); t++) {
      const Task& task = plan_.tasks[std::size_t(t)];
      if (task.kind == Task::Kind::columns) write(task.block, task.first, task.end, t);
      if (task.kind == Task::Kind::subtrees)
        for (i32 k = task.first; k < task.end; k++) write(k, 0, block(k).width, t);
    }
  }

  /// The tasks with x of its strips' rows; for columns also those of the block's parts.
  void need_writers(const Task& t) {
    if (t.kind == Task::Kind::subtrees) return need_above(t);
    const StripRange strips = t.kind == Task::Kind::strips ? StripRange{t.first, t.end} : blocks_.near[std::size_t(t.block)];
    const Block& b = block(t.block);
    need_rows(b, strips.first * b.strip_rows, std::min(strips.end * b.strip_rows, b.front));
    if (t.kind == Task::Kind::columns) need_all_of(t.block, Task::Kind::strips);
  }
  /// Where their parent is on the same rank its columns will do, for which all rows of its front were there.
  void need_above(const Task& t) {
    const i32 above = parent(t.block);
    if (above == no_parent) return;
    if (owner(above) == t.rank) return need_all_of(above, Task::Kind::columns);
    for (i32 k = t.first; k < t.end; k++)
      if (parent(k) == above) need_rows(block(k), block(k).width, block(k).front);
  }
  void need_rows(const Block& b, i32 first, i32 end) {
    for (i32 i = std::max(first, b.width); i < end; i++)
      if (const i32 u = writer_[std::size_t(blocks_.rows[std::size_t(b.rows + i)])]; found_.empty() || found_.back() != u)
        found_.push_back(u);
  }
  void need_all_of(i32 k, Task::Kind kind) {
    for (i32 u = tasks_of_[std::size_t(k)].begin; u < tasks_of_[std::size_t(k)].end; u++)
      if (plan_.tasks[std::size_t(u)].kind == kind) found_.push_back(u);
  }

  /// Ranks whose tasks need it.
  void find_readers() {
    plan_.readers.assign(plan_.tasks.size(), 0);
    for (std::size_t t = 0; t < plan_.tasks.size(); t++)
      for (i64 e = plan_.need_begin[t]; e < plan_.need_begin[t + 1]; e++)
        plan_.readers[std::size_t(plan_.needs[std::size_t(e)])] |= u32(1) << plan_.tasks[t].rank;
    for (std::size_t t = 0; t < plan_.tasks.size(); t++) plan_.readers[t] &= ~(u32(1) << plan_.tasks[t].rank);
  }

  struct Range {
    i32 begin = 0, end = 0;
  };
  const Blocks& blocks_;
  bool forward_;
  i64 value_bytes_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<i64> sizes_;
  i64 near_bytes_ = 0;           // of tasks that the parent waits for, where others have more; 0: all are alike
  i64 open_bytes_ = 0;           // of the subtrees that the last task has
  std::vector<Range> tasks_of_;  // [blocks]
  std::vector<std::vector<i32>> children_;
  std::vector<i32> writer_;  // [n] on the way back
  std::vector<i32> found_;
};

}  // namespace

i64 values_of(const Blocks& blocks, const Task& t) {
  const Block& b = blocks.blocks[std::size_t(t.block)];
  if (t.kind == Task::Kind::columns) return (t.end - t.first) * near_values_of_column(blocks, t.block);
  i64 values = 0;
  auto add_strips = [&](const Block& of, i32 first, i32 end) {
    for (i32 s = first; s < end; s++) values += strip_of(of, s).size();
  };
  if (t.kind == Task::Kind::strips) add_strips(b, t.first, t.end);
  if (t.kind == Task::Kind::subtrees)
    for (i32 k = t.first; k < t.end; k++) add_strips(blocks.blocks[std::size_t(k)], 0, blocks.blocks[std::size_t(k)].strips());
  return values;
}

i64 values_of_round(const Blocks& blocks, const Task& t) {
  const i64 values = values_of(blocks, t), of_strip = strip_of(blocks.blocks[std::size_t(t.block)], t.first).size();
  return values > most_of_strip ? std::max<i64>(most_of_strip / of_strip, 1) * of_strip : values;
}

Plan make_plan(const Blocks& blocks, Direction direction, i64 value_bytes, const PlanOptions& options) {
  validate(options);
  return Planner(blocks, direction, value_bytes, options).scheduled();
}

Plan with_long_tasks(const Blocks& blocks, const Plan& plan, i64 value_bytes, const PlanOptions& options) {
  if (plan.direction != Direction::forward) bad_argument("long tasks of a triangular solve are for the way forward");
  PlanOptions as_many = options;
  as_many.ranks = plan.ranks;
  validate(as_many);
  return Planner(blocks, plan, value_bytes, as_many).scheduled();
}

}  // namespace sordino::trsv
