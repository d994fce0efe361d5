#include "sordino/trsv/task_times.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"

namespace sordino::trsv {
namespace {

// What an H100 reaches with four thread blocks on a multiprocessor (docs/theory/004.md, "The time of our own solves").
constexpr double part_of_memory_bandwidth = 0.91, shares_of_lone_worker = 12.7;
// Of a thread block on the way back (cuda/workers.cuh, cuda/backward.cuh): its threads, parts' sums that one of them has on
// their way at once, and rows of x.
constexpr i32 threads_of_worker = 128, sums_at_once = 8, rows_at_once = 3;
constexpr i32 warps_of_worker = 4;
// Of a further right-hand side of a wide pass, in times of the first: an estimate by bytes (of 7 points, 100^3, 31 more move
// 0.6 times what values move), which no measurement has calibrated, so it is no number of a machine's.
constexpr double wide_column = 0.025;

}  // namespace

double TaskTimes::step(const Blocks& blocks, const Task& t) const {
  if (t.kind != Task::Kind::subtrees) return step_s;
  const i32 count = t.end - t.first;
  std::vector<i32> depth(std::size_t(count), 1);
  i32 longest = 1;
  for (i32 k = 0; k < count; k++) {  // children come before their parent
    longest = std::max(longest, depth[std::size_t(k)]);
    const i32 above = blocks.parent[std::size_t(t.first + k)] - t.first;
    if (above > k && above < count) depth[std::size_t(above)] = std::max(depth[std::size_t(above)], depth[std::size_t(k)] + 1);
  }
  return step_s + small_block_s * std::max((count + warps_of_worker - 1) / warps_of_worker, longest);
}

SolvePasses solve_passes(i64 columns, bool has_wide) {
  SolvePasses all;
  auto add_wide = [&](i64 times, i64 room) { all.count += times, all.wide_further += times * (room - 1); };
  if (has_wide) {
    constexpr i64 room = most_columns_of_wide_solve_pass;
    add_wide(columns / room, room);
    columns %= room;
    if (columns > most_columns_of_solve_pass) add_wide(1, columns > room / 2 ? room : room / 2), columns = 0;
  }
  const i64 narrow = columns / most_columns_of_solve_pass + std::popcount(u64(columns % most_columns_of_solve_pass));
  all.count += narrow, all.further += columns - narrow;
  return all;
}

i64 further_trips(const Blocks& blocks, Direction direction, const Task& t) {
  if (direction == Direction::forward || t.kind == Task::Kind::subtrees) return 0;
  auto further = [](i32 count, i32 at_once) { return i64(std::max(0, (count + at_once - 1) / at_once - 1)); };
  if (t.kind == Task::Kind::strips) {  // of each row the number of its column, and then x
    const i32 rows = (t.end - t.first) * blocks.blocks[std::size_t(t.block)].strip_rows;
    return 2 * further(std::max(0, rows - (rows_at_once - 1) * threads_of_worker), threads_of_worker);
  }
  const i32 parts = blocks.part_begin[std::size_t(t.block) + 1] - blocks.part_begin[std::size_t(t.block)];
  const i32 threads_of_column = std::max(1, threads_of_worker / (t.end - t.first));
  return further(parts, sums_at_once * threads_of_column);
}

TaskTimes task_times(const Machine& m, Direction direction, i64 columns, i64 value_bytes) {
  if (columns < 1) bad_argument("a triangular system has one right-hand side or more, not " + std::to_string(columns));
  const TriangularTasks& of = m.triangular;
  const SolvePasses all_passes = solve_passes(columns, has_wide_solve_passes(direction, value_bytes));
  const double passes = double(all_passes.count);
  const double reached = direction == Direction::forward ? 1 : of.backward;
  const double all = of.bandwidth > 0 ? of.bandwidth : part_of_memory_bandwidth * m.memory_bandwidth;
  const double lone = of.worker_bandwidth > 0 ? of.worker_bandwidth : shares_of_lone_worker * all / of.workers;
  TaskTimes t;
  t.workers = of.workers;
  t.bandwidth = reached * all;
  t.worker_bandwidth = reached * std::min(lone, all);
  t.work = passes + of.column * double(all_passes.further) + wide_column * double(all_passes.wide_further);
  t.step_s = passes * of.step_s;
  t.round_s = passes * of.round_s;
  t.small_block_s = passes * (direction == Direction::forward ? of.small_block_s : of.small_block_back_s);
  t.flag_s = passes * of.flag_s;
  t.message_s = passes * (m.put_overhead_s + (of.message_s > 0 ? of.message_s : m.link_latency_s));
  t.far_message_s = passes * (m.put_overhead_s + m.internode_latency_s);
  t.number_s = double(columns) / m.link_bandwidth;
  t.far_number_s = m.internode_bandwidth > 0 ? double(columns) / m.internode_bandwidth : 0;
  return t;
}

}  // namespace sordino::trsv
