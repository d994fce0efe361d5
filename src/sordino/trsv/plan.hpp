// Who computes what of a triangular solve, in which order, and who waits for whom: one plan, which threads of the host, GPUs
// and the model of a machine carry out alike.
//
// Tasks are numbered in one order that all of a plan's waits follow: a task needs only tasks with smaller numbers. A rank's
// workers take its tasks in that order, each the next one as soon as it is free. So no solve can hang: of the tasks that are
// not done, the one with the smallest number has all it needs, and its rank's workers wait for none behind it. Nobody waits for
// room: every message has a place of its own.
#pragma once
#include <vector>

#include "sordino/trsv/blocks.hpp"

namespace sordino::trsv {

enum class Direction {
  forward,   // L x = b: from the leaves to the root
  backward,  // L^T x = b, or L^H x = b: from the root to the leaves
};

/// Of a large block or of several small subtrees that have the same parent. A task's kind says together with the plan's
/// direction what it computes:
/// - strips, forward: rows of a block's product;
/// - strips, backward: the partial sum over one of its parts (Blocks::parts), which only its columns' tasks read, all of them
///   on the same rank. It needs x of the parts' rows, and nothing of those of the block itself;
/// - columns, backward: x of columns, from the partial sums and the near strips' rows (Blocks::near);
/// - subtrees: all of them, in either direction;
/// - rows, of a triangle that has no blocks: rows in the order of their levels (level_plan.hpp).
struct Task {
  enum class Kind : i32 { strips, columns, subtrees, rows };
  Kind kind = Kind::subtrees;
  i32 block = 0;           // of the strips or columns; of subtrees the last block
  i32 first = 0, end = 0;  // strips, columns, blocks, or places of rows
  i32 rank = 0;
};

/// Numbers that say where a small block of a task's subtrees lies, and what it waits for (cuda/subtree_program.hpp).
inline constexpr int words_of_small_block = 10;

struct PlanOptions {
  int ranks = 1;
  int workers = 528;                // of a rank: thread blocks that a GPU has room for, or threads
  i64 task_bytes = 44 << 10;        // of values that a task of a large block has at most, unless one strip has more
  i64 subtree_bytes = 44 << 10;     // of values and tables that subtrees of one task have at most,
  i32 subtree_blocks = 256;         //   and blocks
  double task_seconds = 4e-6;       // that a task takes beside its bytes
  double worker_bandwidth = 15e9;   // B/s at which a worker reads them
  double message_seconds = 1.6e-6;  // from the end of a task to another rank that waits for it
};

struct Plan {
  Direction direction = Direction::forward;
  int ranks = 1;
  std::vector<Task> tasks;
  std::vector<i64> need_begin;           // [tasks + 1]
  std::vector<i32> needs;                // tasks; of one in increasing order
  std::vector<u32> readers;              // [tasks] bit r: rank r, another one, reads what the task has computed
  std::vector<i32> owner;                // [blocks] the rank that has the block's values
  std::vector<std::vector<i32>> queues;  // [ranks] tasks, in increasing order
  double seconds = 0;                    // that the plan takes if tasks last as long as the options say

  i32 count() const { return i32(tasks.size()); }
};

/// What a task of subtrees reads of a block beside its values: 4 bytes for each number of a table.
inline i64 bytes_beside_values(const Block& b) { return 4 * (i64(words_of_small_block) + 2 * b.front + b.height()); }

/// Of a task of strips, unless it has one strip: a thread block's threads have two each.
inline constexpr i32 most_rows_of_task = 256;
/// Of a task of columns; two threads or more share each.
inline constexpr i64 most_columns_of_task = 64;
/// Columns of tasks begin at multiples of 16 bytes.
inline constexpr i64 columns_together = 4;

/// Bits of Plan::readers, and so the most ranks of a plan.
inline constexpr int most_ranks = 32;

/// `value_bytes`: of one value. Subtrees go to ranks as a whole, balanced by their bytes, and blocks above them one by one.
/// Tasks with a long way behind them come first, as in a simulated run with so many workers. Cost: linear in tasks, needs and
/// slots, up to a logarithm. Throws bad_argument for options out of range.
Plan make_plan(const Blocks& blocks, Direction direction, i64 value_bytes, const PlanOptions& options = {});

/// The same owners and subtrees as those of a plan for the way forward, and longer tasks of strips: up to `task_bytes`, but for
/// strips that the parent waits for to begin, which have the usual ones. For many right-hand sides, whose sums for a block's
/// columns each of its tasks has to fetch. Cost: as make_plan().
Plan with_long_tasks(const Blocks& blocks, const Plan& plan, i64 value_bytes, const PlanOptions& options);

/// Values that a task reads.
i64 values_of(const Blocks& blocks, const Task& task);
/// Of those of a part of the way back as many as a worker lets come at a time: whole strips, all rounds alike but the last.
i64 values_of_round(const Blocks& blocks, const Task& task);

/// Throws Error with one sentence if the plan could hang or compute with what is not there: a need that does not come before
/// its task, a number without one writer, or one that is read by a task that does not wait for its writer or by a rank that it
/// does not reach. Cost: slots, and needs times a logarithm.
void check_plan(const Blocks& blocks, const Plan& plan);
/// The part of it that any plan has: each task stands in its rank's queue, once and in order, and needs only tasks with smaller
/// numbers that reach its rank. Cost: tasks and needs.
void check_queues(const Plan& plan);

}  // namespace sordino::trsv
