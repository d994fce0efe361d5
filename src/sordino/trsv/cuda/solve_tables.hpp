// What the kernel of a triangular solve is given: a rank's part of a plan, in device memory.
#pragma once
#include "sordino/runtime/cuda/device_team.hpp"
#include "sordino/trsv/blocks.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// A task in its rank's queue.
struct QueuedTask {
  Task::Kind kind;
  i32 block, first, end;
  i32 id;            // in the plan: of its flag
  u32 readers;       // other ranks
  i32 need;          // SolveTables::needs[need], ...
  i32 needs;
  i64 values;        // of strips or subtrees, which lie in a row: where they begin,
  i64 value_bytes;   //   and how many bytes they have; of columns 0
};

/// Everything lies on the rank's device; numbers of blocks, rows, slots and tasks are those of the plan.
template <class V>
struct SolveTables {
  const QueuedTask* tasks = nullptr;
  const i32* needs = nullptr;  // tasks
  const Block* blocks = nullptr;
  const i32* parent = nullptr;
  const i32* children = nullptr;  // how many a block has
  const i64* strips = nullptr;    // of own blocks: place among own values
  const i32* rows = nullptr;
  const i32* source_begin = nullptr;
  const i32* sources = nullptr;
  const i32* order = nullptr;
  const V* values = nullptr;
  u32* tickets = nullptr;  // taken so far, by all solves
  u32* leaving = nullptr;  // blocks that have ended
  i32 count = 0;           // tasks
  i32 width = 0;           // the most columns of an own block, and of one in a task of subtrees
  i32 small_width = 0;
  cuda::Symmetric<V> x = {}, sums = {};  // [n][columns], [slots][columns] of a pass
  cuda::Symmetric<u32> flags = {};       // [tasks] the solve in which it was done last
  cuda::Symmetric<u32> ended = {};       // [ranks] the solve that a rank has ended
  i32 channel = 0;
  TaskTimes* times = nullptr;  // [tasks of the plan]; null: nobody wants to know
};

/// One pass of a solve, over K columns of b at a time.
template <class V>
struct SolvePass {
  const V* b = nullptr;  // the pass's first column; rows are `stride` apart
  V* result = nullptr;
  i64 stride = 1;
  u32 epoch = 0;         // counts passes
  u32 first_ticket = 0;
  bool conjugate = false;
};

}  // namespace sordino::trsv
