// What the kernels SOLVE and WAIT of paper 004's Algorithm 1 are given: a rank's part of a triangle, in device memory.
#pragma once
#include "sordino/runtime/cuda/device_team.hpp"
#include "sordino/trsv/values.hpp"

namespace sordino::trsv::paper {

/// Threads of a thread block of SOLVE (256 by the paper's text, 16 x 16 by l.6), and so the most columns of a block column.
inline constexpr int solve_threads = 256;
/// Of each of the two thread blocks of WAIT (l.3, maxTH): threads among which a mask is shared.
inline constexpr int wait_threads = 1024;

/// A block column, for the thread block that takes it. Below the diagonal the rank's blocks stand on each other, as a panel of
/// `rows` rows, whose columns are lead_of(rows) values apart.
struct ColumnOnGpu {
  i64 inverse = -1;          // L(K, K)^-1 [width][lead_of(width)] among own values; -1: another rank has it
  i64 panel = 0;             // [width][lead_of(rows)] among own values
  i64 target = 0;            // PaperTables::targets[target], ...: of the panel's rows
  i64 block = 0, end = 0;    // of PaperTables::blocks
  i32 K = 0;                 // its number
  i32 first = 0, width = 0;  // columns
  i32 rows = 0;              // of the panel
  i32 parent = -1;           // in K's broadcast tree; -1: none
  i32 children[2] = {-1, -1};
};

/// Columns of many rows begin at sectors of 32 bytes of a double.
SORDINO_HD constexpr i32 lead_of(i32 rows) { return rows <= 16 ? rows : (rows + 3) / 4 * 4; }

/// L(I, K), in a panel.
struct BlockOnGpu {
  i32 I = 0, end = 0;  // of its rows
};

/// What a rank knows of block row I.
struct RowOnGpu {
  i32 first = 0, width = 0;
  u32 fmod = 0;    // before a solve
  i32 parent = 0;  // rank in I's reduction tree; -1: this one is the root
  i32 slot = 0;    // of this rank's sum at its parent, 2 I + c
};

/// A zero of a mask: what is awaited, and from whom.
struct Awaited {
  i32 index = 0, from = 0;  // K, or slot 2 I + c; rank
};

/// Everything but the symmetric arrays, which others write to, lies on the rank's device and is its own.
template <class V>
struct PaperTables {
  const ColumnOnGpu* columns = nullptr;  // [count] increasing
  const BlockOnGpu* blocks = nullptr;
  const RowOnGpu* rows = nullptr;  // [block rows]
  const i32* targets = nullptr;    // rows of lsum
  const i32* order = nullptr;      // [n]
  const V* values = nullptr;
  V* lsum = nullptr;          // [n] zero between solves
  u32* fmod = nullptr;        // [block rows] as in `rows` between solves
  Awaited* masks[2] = {};     // M_c and M_r: their zeros. Their order is WAIT's
  const i32* shares[2] = {};  // [wait_threads + 1] thread t has [t], ..., [t + 1] - 1
  u32* tickets = nullptr;     // taken so far, by all solves
  u32* flag_w = nullptr;      // [2] host memory: the solve for which a thread block of WAIT is there
  i32 count = 0;              // block columns of which this rank has a block
  i64 n = 0;
  cuda::Symmetric<V> x = {};           // ready_x [n]
  cuda::Symmetric<V> sums = {};        // ready_lsum [2][n]: slot 2 I + c is [c][first row of I]
  cuda::Symmetric<u32> flag_x = {};    // [block columns] the solve for which x(K) has come
  cuda::Symmetric<u32> flag_sum = {};  // [2 block rows] the solve for which a sum has come
  i32 channel = 0;
};

/// One solve, with one right-hand side.
template <class V>
struct PaperPass {
  const V* b = nullptr;  // rows are `stride` apart, in the caller's order
  V* result = nullptr;
  i64 stride = 1;
  u32 epoch = 0;  // counts solves
  u32 first_ticket = 0;
};

/// SOLVE and WAIT have the same parameters. SOLVE has as many thread blocks as the rank has block columns, or fewer, which then
/// take several; WAIT has two, and both must be on the device before SOLVE is launched.
template <class V>
using PaperKernel = void (*)(cuda::DeviceTeam, PaperTables<V>, PaperPass<V>);
template <class V>
PaperKernel<V> kernel_solve();
template <class V>
PaperKernel<V> kernel_wait();

}  // namespace sordino::trsv::paper
