// Device code: where workers find b. That of a small factor is read where the caller has it, by the order of the blocks, for a
// kernel that puts it in order first would take longer; all others lie in that order. Nothing that is loaded here is waited
// for: whoever uses it tells it (told.cuh), for arithmetic in double may keep the bits of a caller's NaN.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

/// One thread: column `column` of the blocks, of all of the pass's columns of b.
template <class V, int K, int P>
__device__ __forceinline__ void load_b(const Worker<V, K, P>& w, i32 column, V (&to)[K]) {
  if constexpr (P > K) {
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = w.pass.b[i64(column) * P + wide_place(w.first_of_K + r, column)];
  } else {
    const V* const from = w.pass.b + (w.pass.order ? i64(w.pass.order[column]) * w.pass.stride : i64(column) * K);
#pragma unroll
    for (int r = 0; r < K; r++) to[r] = from[r];
  }
}
/// As words.
template <class V, int K>
__device__ __forceinline__ void load_b(const Worker<V, K>& w, i32 column, RowWords<V, K>& to) {
  if (!w.pass.order) return to.load(true, w.pass.b + i64(column) * K);
  V row[K];
  load_b(w, column, row);
  memcpy(to.words, row, sizeof row);
}
/// Of two of the pass's columns, r, which is even, and the next one.
template <int K, int P>
__device__ __forceinline__ double2 load_two_of_b(const Worker<double, K, P>& w, i32 column, int r) {
  const double* from = w.pass.b + i64(column) * P + (P > K ? wide_place(w.first_of_K + r, column) : r);
  if (P > K || !w.pass.order) return *reinterpret_cast<const double2*>(from);
  from = w.pass.b + i64(w.pass.order[column]) * w.pass.stride + r;  // which need not be a multiple of 16
  return {from[0], from[1]};
}

/// Workers: the right-hand sides of subtrees' columns.
template <class V, int K, int P>
__device__ __forceinline__ void load_columns_by_rows(const Worker<V, K, P>& w, const QueuedTask& t) {
#pragma unroll 4
  for (i32 j = w.thread(); j < t.columns; j += worker_threads) {
    V row[K];
    load_b(w, t.block.column + j, row);
#pragma unroll
    for (int r = 0; r < K; r++) w.operands()[j * K + r] = told(row[r]);
  }
}

}  // namespace sordino::trsv
