// What a GPU does to pair rows (precond/aggregation.hpp): who is whose partner, as if rows chose one after the other; who joins
// whom; and numbers of aggregates.
#pragma once
#include <cuda/atomic>

#include "sordino/precond/choosing.hpp"
#include "sordino/runtime/cuda/memory.cuh"
#include "sordino/runtime/cuda/workbench.cuh"

namespace sordino::aggregate_kernels {

using aggregates::Choosing, aggregates::Coupled, aggregates::Entries, aggregates::Lonely, aggregates::OneRanks,
    aggregates::Rule;
using aggregates::outside, aggregates::pending, aggregates::unpaired;
using cuda::my_number;

constexpr unsigned all_lanes = ~0u;

/// What the rows of a level are paired by.
struct PairView {
  Rule rule;
  i64 n;
  const i64* cuts;  // [ranks + 1] of rows
  i32 ranks;
  i32* state;   // [n] a row of its pair, `unpaired`, `outside`, or `pending`
  i32* joins;   // [n] of a row that is left, whom it would join, or -1
  i32* others;  // [n] how many rows before it, that are left, too, would join it
  i32* open;    // [n] of how many of them it is not known yet whether they do
  i32* rooted;  // [n] whether one does
  i32* of;      // [n] a row of its aggregate, then its number; or `outside`
  i32* first;   // [n] the first row of the aggregate of which this one stands for all
  i32* before;  // [n + 1] whether a row is the first of its aggregate; then how many are before it
  i32* failed;  // whether two rows are not the same for each other, or wait for one another for too long

  __device__ aggregates::Joining joining() const { return {state, joins}; }
  __device__ OneRanks rank_of(i64 row) const {
    i32 low = 0, high = ranks;  // cuts[low] <= row < cuts[high]
    while (high - low > 1) {
      const i32 middle = (low + high) / 2;
      (cuts[middle] <= row ? low : high) = middle;
    }
    return {cuts[low], cuts[high]};
  }
};

/// States of rows that other threads look at.
struct SharedStates {
  using State = ::cuda::atomic_ref<i32, ::cuda::thread_scope_device>;
  i32* of;

  __device__ i32 seen(i64 row) const { return State(of[row]).load(::cuda::memory_order_relaxed); }
  __device__ void take(i64 j, i64 row) const { State(of[j]).store(i32(row), ::cuda::memory_order_relaxed); }
  __device__ void settle(i64 row, i32 state) const { State(of[row]).store(state, ::cuda::memory_order_release); }
  __device__ void fence() const { ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device); }
};

static __global__ void couple(Entries A, i64 n, Coupled* rows) {
  const i64 i = my_number();
  if (i < n) rows[i] = aggregates::coupled(A, i);
}

/// Where (row, column) is stored, or -1.
inline __device__ i64 place_of(const Entries& A, i64 row, i32 column) {
  i64 low = A.begins[row], high = A.begins[row + 1];
  while (low < high) {
    const i64 middle = (low + high) / 2;
    if (A.columns[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low < A.begins[row + 1] && A.columns[low] == column ? low : -1;
}

/// Nobody has chosen. Values of (i, j) and (j, i) may differ by rounding: where that makes one of them strong and the other
/// not, rows would not know for whom to wait.
static __global__ void begin_pairing(PairView v) {
  const i64 i = my_number();
  if (i >= v.n) return;
  v.state[i] = v.rule.rows[i].most < 0 ? outside : pending;
  v.others[i] = v.rooted[i] = 0;
  v.first[i] = i32(v.n);
  const OneRanks rank = v.rank_of(i);
  for (i64 k = v.rule.A.begins[i]; k < v.rule.A.begins[i + 1]; k++) {
    const i32 j = v.rule.A.columns[k];
    if (!v.rule.may_pair(i, j, -v.rule.A.values[k], rank)) continue;
    const i64 mirror = place_of(v.rule.A, j, i32(i));
    if (mirror < 0 || !v.rule.may_pair(j, i, -v.rule.A.values[mirror], rank)) *v.failed = 1;
  }
}

/// Nanoseconds for which rows may wait for one another: long lines of them are chosen along one by one.
constexpr u64 most_patience = 5'000'000'000;

/// Warps take 32 rows each, in their order: so whom a row waits for is at work, or done. It gives up where lines are too long.
static __global__ void choose_partners(PairView v, u32* rows_taken) {
  const int lane = int(threadIdx.x) % 32;
  const u64 begin = cuda::nanoseconds();
  while (true) {
    u32 some = lane == 0 ? atomicAdd(rows_taken, 1u) : 0;
    some = __shfl_sync(all_lanes, some, 0);
    const i64 first = 32 * i64(some), i = first + lane;
    if (first >= v.n) return;
    bool done = i >= v.n;
    Choosing choosing{i, done ? OneRanks{0, 0} : v.rank_of(i)};
    for (u32 looks = 1; !__all_sync(all_lanes, done); looks++) {
      if (!done) done = choosing.is_done(v.rule, SharedStates{v.state});
      if (looks % 1024 == 0 && __any_sync(all_lanes, cuda::nanoseconds() - begin > most_patience)) {
        *v.failed = 1;
        return;
      }
    }
  }
}

static __global__ void choose_joined(PairView v) {
  const i64 i = my_number();
  if (i >= v.n) return;
  v.joins[i] = v.state[i] == unpaired ? v.rule.joined(i, v.rank_of(i)) : -1;
  if (const i32 j = v.joining().roots_perhaps(i); j >= 0) atomicAdd(v.others + j, 1);
}

/// Which rows are joined before their turn, as other threads find it.
struct SharedRoots {
  PairView v;
  __device__ bool is_rooted(i64 row) const { return SharedStates{v.rooted}.seen(row) != 0; }
  __device__ void root(i64 row) const { SharedStates{v.rooted}.settle(row, 1); }
  __device__ bool is_last(i64 row) const {
    return SharedStates::State(v.open[row]).fetch_sub(1, ::cuda::memory_order_acq_rel) == 1;
  }
};

/// `open` are as many as `others`.
static __global__ void find_rooted(PairView v) {
  const i64 i = my_number();
  if (i < v.n && v.others[i] == 0) v.joining().tell(i, SharedRoots{v});
}

static __global__ void find_aggregates(PairView v, Lonely lonely) {
  const i64 i = my_number();
  if (i >= v.n) return;
  const i32 found = v.joining().aggregate_of(v.rule, v.rooted, lonely, i);
  v.of[i] = found;
  if (found != outside) atomicMin(v.first + found, i32(i));
}

static __global__ void flag_first_rows(PairView v) {
  const i64 i = my_number();
  if (i <= v.n) v.before[i] = i < v.n && v.of[i] != outside && v.first[v.of[i]] == i;
}

static __global__ void number_rows(PairView v) {
  const i64 i = my_number();
  if (i < v.n && v.of[i] != outside) v.of[i] = v.before[v.first[v.of[i]]];
}

/// How many aggregates are before each rank's.
static __global__ void cut_aggregates(PairView v, i64* next_cuts) {
  const i64 r = my_number();
  if (r <= v.ranks) next_cuts[r] = v.before[v.cuts[r]];
}

/// A pair counts as its rows do.
static __global__ void raise_pairs(const Coupled* rows, const i32* of, i64 n, Coupled* pairs) {
  const i64 i = my_number();
  if (i >= n || of[i] == outside) return;
  const double most = rows[i].most / aggregates::over_correction;  // 0 or more, whose bits are in order
  atomicMax(reinterpret_cast<long long*>(&pairs[of[i]].most), __double_as_longlong(most));
}

static __global__ void compose(i32* of, i64 n, const i32* of_pairs) {
  const i64 i = my_number();
  if (i < n && of[i] != outside) of[i] = of_pairs[of[i]];
}

}  // namespace sordino::aggregate_kernels
