// Device code: small subtrees times eight columns of doubles on the way from the leaves to the root, by tensor cores. A lane
// has two columns of a row, so that rows which neighbouring lanes read or write lie in different banks, and in whole lines of
// memory.
#pragma once
#include "sordino/trsv/cuda/right_hand_sides.cuh"
#include "sordino/trsv/cuda/tensor_cores.cuh"

namespace sordino::trsv {

template <int P>
using EightsWorker = Worker<double, columns_of_tile, P>;
inline constexpr int lanes_of_row = columns_of_tile / 2;

__device__ __forceinline__ double2& two_at(double* row) { return *reinterpret_cast<double2*>(row); }
__device__ __forceinline__ void add_to(double2& sum, double2 more) {
  sum.x += more.x;
  sum.y += more.y;
}

/// Workers: the right-hand sides of subtrees' columns.
template <int P>
__device__ __forceinline__ void load_columns_by_pairs(const EightsWorker<P>& w, const QueuedTask& t) {
#pragma unroll 4
  for (i32 at = w.thread(); at < lanes_of_row * t.columns; at += worker_threads) {
    const i32 j = at / lanes_of_row, r = 2 * (at % lanes_of_row), column = t.block.column + j;
    const double2 of_b = load_two_of_b(w, column, r);
    two_at(w.operands() + j * columns_of_tile + r) = {told(of_b.x), told(of_b.y)};
  }
}

/// One warp, for a small block whose values, program, operands and sums are at hand.
template <int P>
__device__ void forward_small_by_pairs(const EightsWorker<P>& w, const QueuedTask& t, const i32* program, const SmallBlock& b,
                                       const double* values) {
  constexpr int K = columns_of_tile;
  double *const operand = w.operands() + b.column * K, *const x = w.products() + b.column * K,
                *const sums = w.products() + t.columns * K;
  const int g = w.lane() / lanes_of_row, r = 2 * (w.lane() % lanes_of_row);
#pragma unroll 2
  for (i32 i = g; i < b.front; i += 32 / lanes_of_row) {  // the children's sums
    double2 sum{};
    for (i32 e = program[b.sources + i], end = program[b.sources + i + 1]; e < end; e++)
      add_to(sum, two_at(sums + program[e] * K + r));
    if (i < b.width) {
      double2& of_b = two_at(operand + i * K + r);
      of_b = {of_b.x - sum.x, of_b.y - sum.y};
    } else {
      two_at(sums + (b.slot + i - b.width) * K + r) = sum;
    }
  }
  __syncwarp();
  const Block shape{.width = b.width, .front = b.front, .strip_rows = b.strip_rows};
  values += b.values;
  for (i32 k = 0; k < shape.strips(); k++) {
    const Strip strip = strip_of(shape, k);
    for (int first = 0; first < strip.rows; first += most_rows_of_tiles)
      with_tiles(strip.rows - first, [&](auto kind) {
        using T = decltype(kind);
        double d[T::count][2];
        multiply_tiles<T, K>(values + first, strip, operand + g, d);
#pragma unroll
        for (int n = 0; n < T::count; n++) {
          const i32 in_strip = first + T::row(n, g), i = strip.first + in_strip;
          if (in_strip >= strip.rows) continue;
          double2& to = two_at((i < b.width ? x + i * K : sums + (b.slot + i - b.width) * K) + r);
          to = i < b.width ? double2{d[n][0], d[n][1]} : double2{to.x + d[n][0], to.y + d[n][1]};
        }
      });
    values += strip.size();
  }
}

/// Workers: results, and the sums of blocks whose parents are elsewhere.
template <int P>
__device__ void store_subtrees_by_pairs(const EightsWorker<P>& w, const QueuedTask& t, const SmallBlock* blocks) {
  constexpr int K = columns_of_tile;
#pragma unroll 4
  for (i32 at = w.thread(); at < lanes_of_row * t.columns; at += worker_threads) {
    const i32 j = at / lanes_of_row, r = 2 * (at % lanes_of_row);
    w.store_two_results(w.s.order[t.block.column + j], r, two_at(w.products() + j * K + r));
  }
  const int r = 2 * (w.lane() % lanes_of_row);
  for (i32 k = w.warp(); k < t.end - t.first; k += worker_warps) {
    if (blocks[k].parent >= 0) continue;
    const i32 height = blocks[k].front - blocks[k].width;
    for (i32 i = w.lane() / lanes_of_row; i < height; i += 32 / lanes_of_row)
      w.store_two_sums(blocks[k].slot_of_all + i, r, two_at(w.products() + (t.columns + blocks[k].slot + i) * K + r),
                       t.readers);
  }
}

}  // namespace sordino::trsv
