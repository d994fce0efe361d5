// What the kernel of a triangular solve is given: a rank's part of a plan, in device memory.
#pragma once
#include "sordino/runtime/cuda/device_team.hpp"
#include "sordino/trsv/blocks.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// A task in its rank's queue. Its values, and the program of subtrees, are copied to the thread block that takes it, ahead of
/// its time: in one round, a part of the way back that is too large for that in several, and strips of a wide pass in slices
/// (wide_shapes.hpp).
struct QueuedTask {
  i64 values = 0;       // where they begin, among own ones
  i64 program = 0;      // of subtrees: SolveTables::programs[program], ...
  i64 partial = 0;      // of a part, or of the first part of columns' block: SolveTables::partials[partial], ...
  i32 value_bytes = 0;  // of all rounds; 0: nothing comes
  i32 program_bytes = 0;
  i32 rounds = 1;            // each of one piece, if they are several
  i32 pieces = 1;            // of values
  i32 piece_bytes = 0;       // of each but the last
  i32 piece_step = 0;        // bytes from one to the next, where they come from
  i32 last_piece_ahead = 0;  // bytes by which the last one, of a shorter strip, begins sooner than that
  i32 strips_of_round = 0;   // of a part
  i32 lanes_log = 0;         // of strips forward: so many lanes, a power of two, share two rows,
  i32 is_urgent = 0;         //   and who waits looks at numbers, not at flags
  Task::Kind kind = Task::Kind::strips;
  i32 first = 0, end = 0;   // strips, columns or blocks
  i32 id = 0;               // in the plan: of its flag
  u32 readers = 0;          // other ranks
  i32 need = 0, needs = 0;  // SolveTables::needs[need], ..., so many
  i32 columns = 0;          // of b that subtrees have
  i32 outside = 0;          // rows of them, on the way back, whose x is computed elsewhere
  i32 parts = 0;            // of columns' block
  StripRange near = {};     // of columns' block
  Block block = {};         // of subtrees the first one
};
static_assert(sizeof(QueuedTask) % sizeof(u32) == 0, "a warp copies it word by word");

/// The slots that a row of a front adds up: two at once, and the others at SolveTables::sources[more], ...
struct alignas(16) RowSources {
  i32 count = 0, first = 0, second = 0, more = 0;
};

/// Everything lies on the rank's device; numbers of blocks, rows, slots and tasks are those of the plan.
template <class V>
struct SolveTables {
  const QueuedTask* tasks = nullptr;
  const i32* needs = nullptr;  // tasks
  const i32* programs = nullptr;
  const RowSources* row_sources = nullptr;  // [rows of all fronts]
  const i32* sources = nullptr;
  const i32* order = nullptr;
  const i32* rows = nullptr;
  const V* values = nullptr;
  V* partials = nullptr;                 // [partial sums of own blocks][K], likewise
  u32* tickets = nullptr;                // taken so far, by all solves
  u32* leaving = nullptr;                // blocks that have ended
  i32 count = 0;                         // tasks
  i32 buffer_bytes = 0;                  // of the largest task's values and program
  i32 operands = 0;                      // SolveShape::operands
  cuda::Symmetric<V> x = {}, sums = {};  // [n][K], [slots][K], of a pass and of the next one
  cuda::Symmetric<u32> flags = {};       // [tasks] the solve in which it was done last
  cuda::Symmetric<u32> ended = {};       // [ranks] the solve that a rank has ended
  i32 channel = 0;
  TaskTrace* times = nullptr;  // [tasks of the plan]; null: nobody wants to know
};

/// One pass of a solve, over K columns of b at a time.
template <class V>
struct SolvePass {
  const V* b = nullptr;        // [n][K] in the order of the blocks; or as `result`, with the order that the blocks have
  const i32* order = nullptr;  // [n] that order, of such a b
  V* result = nullptr;         // the pass's first column; rows are `stride` apart
  i64 stride = 1;
  // Where this pass's numbers begin among all, and those of the next one: forward,
  i64 sums = 0, next_sums = 0;
  // and on the way back.
  i64 x = 0, next_x = 0, partials = 0, next_partials = 0;
  u32* not_finite = nullptr;  // of the host's: the last pass with a number of x that was NaN or infinite
  u32 epoch = 0;              // counts passes
  u32 first_ticket = 0;
  i32 columns = 0;        // of a pass that has room for more: the others are zeros, and nobody's
  bool one_each = false;  // there are thread blocks for all tasks: each takes one, and looks for no other
  bool conjugate = false;
};

}  // namespace sordino::trsv
