// What must hold of a plan so that no solve hangs or reads what is not there: all of it is looked at, nothing is sampled.
#include <algorithm>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {
namespace {

[[noreturn]] void refuse(i32 t, const std::string& what) {
  throw Error(Errc::bad_argument, "task " + std::to_string(t) + " of the plan " + what);
}

/// That what task `writer` computes gets to where task t is.
void check_reach(const Plan& plan, i32 t, i32 writer) {
  const i32 rank = plan.tasks[std::size_t(t)].rank;
  if (plan.tasks[std::size_t(writer)].rank != rank && !(plan.readers[std::size_t(writer)] >> rank & 1))
    refuse(t, "reads on rank " + std::to_string(rank) + " what task " + std::to_string(writer) + " does not send there");
}

class Checker {
 public:
  Checker(const Blocks& blocks, const Plan& plan) : blocks_(blocks), plan_(plan) {}

  void check() {
    check_order();
    find_writers();
    for (i32 t = 0; t < plan_.count(); t++) {
      if (plan_.direction == Direction::forward)
        check_sums(t);
      else
        check_rows(t);
    }
  }

 private:
  const Task& task(i32 t) const { return plan_.tasks[std::size_t(t)]; }
  const Block& block(i32 k) const { return blocks_.blocks[std::size_t(k)]; }

  void check_order() const {
    for (i32 t = 0; t < plan_.count(); t++) check_parts(t);
    check_queues(plan_);
  }

  /// That it is of a kind that its direction has, and of parts that there are.
  void check_parts(i32 t) const {
    const Task& task = this->task(t);
    const bool forward = plan_.direction == Direction::forward;
    if (task.kind == Task::Kind::rows) refuse(t, "is one of rows, and blocks have none");
    if (task.kind == Task::Kind::columns && forward) refuse(t, "is one of the other direction");
    if (task.block < 0 || task.block >= blocks_.count()) refuse(t, "has a block that is not there");
    const Block& b = block(task.block);
    const i32 parts = task.kind == Task::Kind::strips    ? b.strips()
                      : task.kind == Task::Kind::columns ? b.width
                                                         : task.block + 1;
    if (task.first < 0 || task.first >= task.end || task.end > parts) refuse(t, "has parts that are not there");
    if (task.kind == Task::Kind::strips && !forward) {
      const i32 part = part_of(blocks_, task.block, task.first);
      if (part < 0 || blocks_.parts[std::size_t(part)].end != task.end) refuse(t, "has strips that are no part of their block");
    }
    if (task.kind != Task::Kind::subtrees) return;
    for (i32 k = task.first; k < task.end; k++)  // whole: what is below a block is there, too
      if (blocks_.first[std::size_t(k)] < task.first) refuse(t, "has a part of a subtree");
  }

  /// `visit(block, first, end)`: rows of the front, or columns, that the task computes.
  template <class Visit>
  void each_part(const Task& t, const Visit& visit) const {
    if (t.kind == Task::Kind::subtrees)
      for (i32 k = t.first; k < t.end; k++)
        visit(k, 0, plan_.direction == Direction::forward ? block(k).front : block(k).width);
    else if (t.kind == Task::Kind::strips)
      visit(t.block, t.first * block(t.block).strip_rows, std::min(t.end * block(t.block).strip_rows, block(t.block).front));
    else
      visit(t.block, t.first, t.end);
  }

  void write(std::vector<i32>& writer, i64 place, i32 t) const {
    if (std::exchange(writer[std::size_t(place)], t) >= 0) refuse(t, "writes what another one has written");
  }

  void find_writers() {
    of_column_.assign(std::size_t(blocks_.n), -1);
    of_slot_.assign(std::size_t(blocks_.slots), -1);
    of_part_.assign(blocks_.parts.size(), -1);
    const bool forward = plan_.direction == Direction::forward;
    for (i32 t = 0; t < plan_.count(); t++)
      each_part(task(t), [&](i32 k, i32 first, i32 end) {
        if (plan_.owner[std::size_t(k)] != task(t).rank) refuse(t, "has a block whose values another rank has");
        if (forward) return write_rows(t, k, first, end);
        if (task(t).kind != Task::Kind::columns) write_parts(t, k);
        if (task(t).kind != Task::Kind::strips)
          for (i32 j = first; j < end; j++) write(of_column_, block(k).column + j, t);
      });
    if (std::count(of_column_.begin(), of_column_.end(), -1) > 0)
      throw Error(Errc::bad_argument, "no task of the plan computes some columns");
    if (forward && std::count(of_slot_.begin(), of_slot_.end(), -1) > 0)
      throw Error(Errc::bad_argument, "no task of the plan computes some sums");
    if (!forward && std::count(of_part_.begin(), of_part_.end(), -1) > 0)
      throw Error(Errc::bad_argument, "no task of the plan computes some partial sums");
  }
  void write_rows(i32 t, i32 k, i32 first, i32 end) {
    const Block& b = block(k);
    for (i32 i = first; i < std::min(end, b.width); i++) write(of_column_, b.column + i, t);
    for (i32 i = std::max(first, b.width); i < end; i++) write(of_slot_, b.slot + i - b.width, t);
  }
  void write_parts(i32 t, i32 k) {
    const bool one = task(t).kind == Task::Kind::strips;
    const i32 first = one ? part_of(blocks_, k, task(t).first) : blocks_.part_begin[std::size_t(k)];
    for (i32 part = first; part < (one ? first + 1 : blocks_.part_begin[std::size_t(k) + 1]); part++) write(of_part_, part, t);
  }

  bool waits_for(i32 t, i32 writer) const {
    const auto begin = plan_.needs.begin() + plan_.need_begin[std::size_t(t)],
               end = plan_.needs.begin() + plan_.need_begin[std::size_t(t) + 1];
    return std::binary_search(begin, end, writer);
  }
  void check_read(i32 t, i32 writer) const {
    if (writer == t) return;
    if (!waits_for(t, writer)) refuse(t, "reads what task " + std::to_string(writer) + " computes, and does not wait for it");
    check_reach(t, writer);
  }
  void check_reach(i32 t, i32 writer) const { trsv::check_reach(plan_, t, writer); }

  void check_sums(i32 t) const {
    each_part(task(t), [&](i32 k, i32 first, i32 end) {
      const Block& b = block(k);
      auto check_row = [&](i32 i) {
        for (i64 e = blocks_.source_begin[std::size_t(b.source + i)]; e < blocks_.source_begin[std::size_t(b.source + i) + 1];
             e++)
          check_read(t, of_slot_[std::size_t(blocks_.sources[std::size_t(e)])]);
      };
      for (i32 i = 0; i < b.width; i++) check_row(i);
      for (i32 i = std::max(first, b.width); i < end; i++) check_row(i);
    });
  }

  /// Rows below are columns of ancestors: it waits for each one's task. For subtrees all tasks of their parent's columns, on
  /// the same rank, will do: those have all partial sums and near rows of a front that has these rows.
  void check_rows(i32 t) const {
    each_part(task(t), [&](i32 k, i32, i32) {
      const Block& b = block(k);
      const Task& task = this->task(t);
      if (task.kind == Task::Kind::columns)
        for (i32 part = blocks_.part_begin[std::size_t(k)]; part < blocks_.part_begin[std::size_t(k) + 1]; part++)
          check_read(t, of_part_[std::size_t(part)]);
      const StripRange strips = task.kind == Task::Kind::strips    ? StripRange{task.first, task.end}
                                : task.kind == Task::Kind::columns ? blocks_.near[std::size_t(k)]
                                                                   : StripRange{0, b.strips()};
      const i32 above = blocks_.parent[std::size_t(k)];
      const bool by_parent = task.kind == Task::Kind::subtrees && above != no_parent && waits_for_all_of(t, above);
      for (i32 i = std::max(strips.first * b.strip_rows, b.width); i < std::min(strips.end * b.strip_rows, b.front); i++) {
        const i32 writer = of_column_[std::size_t(blocks_.rows[std::size_t(b.rows + i)])];
        if (!by_parent) check_read(t, writer);
        check_reach(t, writer);
      }
    });
  }
  bool waits_for_all_of(i32 t, i32 above) const {
    if (plan_.owner[std::size_t(above)] != task(t).rank) return false;
    for (i32 j = 0; j < block(above).width; j++) {
      const i32 writer = of_column_[std::size_t(block(above).column + j)];
      if (writer != t && !waits_for(t, writer)) return false;
    }
    return true;
  }

  const Blocks& blocks_;
  const Plan& plan_;
  std::vector<i32> of_column_, of_slot_, of_part_;  // tasks
};

}  // namespace

void check_queues(const Plan& plan) {
  std::vector<char> queued(plan.tasks.size(), 0);
  for (std::size_t r = 0; r < plan.queues.size(); r++) {
    i32 before = -1;
    for (i32 t : plan.queues[r]) {
      if (t <= before || t >= plan.count() || plan.tasks[std::size_t(t)].rank != i32(r) || queued[std::size_t(t)]++)
        refuse(t, "stands wrongly in its rank's queue");
      before = t;
    }
  }
  for (i32 t = 0; t < plan.count(); t++) {
    if (!queued[std::size_t(t)]) refuse(t, "stands in no queue");
    for (i64 e = plan.need_begin[std::size_t(t)]; e < plan.need_begin[std::size_t(t) + 1]; e++) {
      const i32 need = plan.needs[std::size_t(e)];
      if (need < 0 || need >= t) refuse(t, "needs one that comes later");
      check_reach(plan, t, need);
    }
  }
}

void check_plan(const Blocks& blocks, const Plan& plan) { Checker(blocks, plan).check(); }

}  // namespace sordino::trsv
