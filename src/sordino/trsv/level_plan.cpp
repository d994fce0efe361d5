#include "sordino/trsv/level_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"

namespace sordino::trsv {
namespace {

/// The rank of each row of the triangle.
std::vector<i32> owners_of_rows(const LevelRows& r, int ranks) {
  std::vector<i32> owner(std::size_t(r.n), 0);
  if (ranks == 1) return owner;
  for (i64 k = 0; k < r.n; k++) owner[std::size_t(r.order[std::size_t(k)])] = r.count(k) + 1;
  const i64 all = r.entries() + r.n;
  i64 before = 0;
  for (i32& row : owner) {
    const i32 size = std::exchange(row, i32(before * ranks / all));
    before += size;
  }
  return owner;
}

/// Where tasks begin.
class Cutter {
 public:
  Cutter(const LevelRows& rows, const LevelPlanOptions& options, Plan& plan)
      : rows_(rows), options_(options), owner_(owners_of_rows(rows, options.ranks)), plan_(plan) {}

  void cut() {
    for (i32 level = 0; level < rows_.levels(); level++) {
      const i32 first = rows_.level_begin[std::size_t(level)], end = rows_.level_begin[std::size_t(level) + 1];
      const i64 size = rows_.begin[std::size_t(end)] - rows_.begin[std::size_t(first)] + end - first;
      if (size > options_.task_entries || 2 * size_ >= options_.task_entries) close(first);
      for (i32 k = first; k < end; k++) {
        if (size_ >= options_.task_entries || rank_of(k) != rank_of(begin_)) close(k);
        size_ += rows_.count(k) + 1;
      }
    }
    close(i32(rows_.n));
  }

 private:
  i32 rank_of(i32 place) const { return owner_[std::size_t(rows_.order[std::size_t(place)])]; }
  void close(i32 end) {
    if (end > begin_) plan_.tasks.push_back({.kind = Task::Kind::rows, .first = begin_, .end = end, .rank = rank_of(begin_)});
    begin_ = end, size_ = 0;
  }

  const LevelRows& rows_;
  const LevelPlanOptions& options_;
  std::vector<i32> owner_;
  Plan& plan_;
  i32 begin_ = 0;
  i64 size_ = 0;
};

/// [n]
std::vector<i32> tasks_of_places(const LevelRows& rows, const Plan& plan) {
  std::vector<i32> task(std::size_t(rows.n));
  for (i32 t = 0; t < plan.count(); t++)
    std::fill(task.begin() + plan.tasks[std::size_t(t)].first, task.begin() + plan.tasks[std::size_t(t)].end, t);
  return task;
}

[[noreturn]] void refuse(i32 t, const std::string& what) {
  throw Error(Errc::bad_argument, "task " + std::to_string(t) + " of the plan " + what);
}

/// That tasks have all places, one behind the other.
void check_places(const LevelRows& rows, const Plan& plan) {
  i32 next = 0;
  for (i32 t = 0; t < plan.count(); t++) {
    const Task& task = plan.tasks[std::size_t(t)];
    if (task.kind != Task::Kind::rows) refuse(t, "is not one of rows");
    if (task.first != next || task.end <= next || task.end > rows.n) refuse(t, "does not begin where the one before ends");
    next = task.end;
  }
  if (next != rows.n) throw Error(Errc::bad_argument, "no task of the plan computes the last rows");
}

}  // namespace

Plan make_level_plan(const LevelRows& rows, const LevelPlanOptions& options) {
  if (options.ranks < 1 || options.ranks > most_ranks || options.task_entries < 1)
    bad_argument("a plan has 1 to " + std::to_string(most_ranks) + " ranks, and tasks of one entry or more");
  Plan plan;
  plan.direction = rows.direction;
  plan.ranks = options.ranks;
  Cutter(rows, options, plan).cut();
  plan.queues.resize(std::size_t(plan.ranks));
  plan.readers.assign(plan.tasks.size(), 0);
  plan.need_begin.assign(1, 0);
  const std::vector<i32> task_of = tasks_of_places(rows, plan);
  std::vector<i32> seen(plan.tasks.size(), -1);
  for (i32 t = 0; t < plan.count(); t++) {
    const Task& task = plan.tasks[std::size_t(t)];
    plan.queues[std::size_t(task.rank)].push_back(t);
    seen[std::size_t(t)] = t;
    for (i64 e = rows.begin[std::size_t(task.first)]; e < rows.begin[std::size_t(task.end)]; e++) {
      const i32 need = task_of[std::size_t(rows.columns[std::size_t(e)])];
      if (std::exchange(seen[std::size_t(need)], t) == t) continue;
      plan.needs.push_back(need);
      if (plan.tasks[std::size_t(need)].rank != task.rank) plan.readers[std::size_t(need)] |= u32(1) << task.rank;
    }
    std::sort(plan.needs.begin() + plan.need_begin.back(), plan.needs.end());
    plan.need_begin.push_back(i64(plan.needs.size()));
  }
  return plan;
}

void check_level_plan(const LevelRows& rows, const Plan& plan, int threads) {
  check_places(rows, plan);
  check_queues(plan);
  const std::vector<i32> task_of = tasks_of_places(rows, plan);
  const auto check_row = [&](i64 k) {
    const i32 t = task_of[std::size_t(k)];
    const auto begin = plan.needs.begin() + plan.need_begin[std::size_t(t)],
               end = plan.needs.begin() + plan.need_begin[std::size_t(t) + 1];
    for (i64 e = rows.begin[std::size_t(k)]; e < rows.begin[std::size_t(k) + 1]; e++) {
      const i32 column = rows.columns[std::size_t(e)];
      if (column < 0 || column >= k) refuse(t, "has a row that needs one that comes later");
      const i32 writer = task_of[std::size_t(column)];
      if (writer != t && !std::binary_search(begin, end, writer))  // those it waits for reach it
        refuse(t, "reads what task " + std::to_string(writer) + " computes, and does not wait for it");
    }
  };
  constexpr i64 some = 1 << 14;  // rows
  for_parts(
      0, rows.n,
      [&](i64 begin, i64 end) {
        for (i64 k = begin; k < end; k++) check_row(k);
      },
      some, threads);
}

std::vector<u32> readers_of_rows(const LevelRows& rows, const Plan& plan) {
  std::vector<u32> readers(std::size_t(rows.n), 0);
  if (plan.ranks == 1) return readers;
  const std::vector<i32> task_of = tasks_of_places(rows, plan);
  auto rank_of = [&](i32 place) { return plan.tasks[std::size_t(task_of[std::size_t(place)])].rank; };
  for (i32 k = 0; k < i32(rows.n); k++)
    for (i64 e = rows.begin[std::size_t(k)]; e < rows.begin[std::size_t(k) + 1]; e++) {
      const i32 column = rows.columns[std::size_t(e)];
      if (rank_of(column) != rank_of(k)) readers[std::size_t(column)] |= u32(1) << rank_of(k);
    }
  return readers;
}

}  // namespace sordino::trsv
