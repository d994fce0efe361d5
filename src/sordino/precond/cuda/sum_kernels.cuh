// What a GPU does to add up the entries between aggregates (precond/aggregation.hpp): each gets the number of its pair of
// aggregates; sorted by that, and by value, those that are added up stand together, in the host's order.
#pragma once
#include "sordino/precond/aggregate_rules.hpp"
#include "sordino/runtime/cuda/workbench.cuh"

namespace sordino::aggregate_kernels {

using aggregates::Entries, aggregates::outside;
using cuda::my_number;

/// The fine matrix and its aggregates.
struct SumView {
  Entries A;
  i64 n, nnz;
  const i32* of;  // [n] aggregates, or `outside`
  i64 count;      // of them

  __device__ u64 none() const { return u64(count) * u64(count); }  // the key of what is nowhere: the last one
};

/// Keys and values of entries, and the diagonal. Rows that couple with nobody are in no aggregate when levels are made.
static __global__ void number_entries(SumView v, u64* keys, double* values, double* diagonal) {
  const i64 i = my_number();
  if (i >= v.n) return;
  const i32 row = v.of[i];
  diagonal[i] = 0;
  for (i64 k = v.A.begins[i]; k < v.A.begins[i + 1]; k++) {
    const i32 j = v.A.columns[k], column = v.of[j];
    if (j == i) diagonal[i] = v.A.values[k];
    keys[k] = row == outside || column == outside ? v.none() : u64(row) * u64(v.count) + u64(column);
    values[k] = v.A.values[k];
  }
}

static __global__ void number_members(SumView v, u32* keys, i32* rows, i64* members) {
  const i64 i = my_number();
  if (i >= v.n) return;
  const i32 to = v.of[i];
  keys[i] = to == outside ? u32(v.count) : u32(to);
  rows[i] = i32(i);
  if (to != outside) atomicAdd(reinterpret_cast<unsigned long long*>(members + to), 1ull);
}

/// What the diagonals of each aggregate's rows add up to, in their order. `members`: where its rows begin, [count + 1].
static __global__ void add_diagonals(SumView v, const i64* members, const i32* rows, const double* diagonal, double* sums) {
  const i64 a = my_number();
  if (a >= v.count) return;
  double sum = 0;
  for (i64 m = members[a]; m < members[a + 1]; m++) sum += diagonal[rows[m]];
  sums[a] = sum;
}

/// Keys in order: whether one is the first of its kind, and how many kinds a row has.
static __global__ void flag_kinds(SumView v, const u64* keys, i32* before, i64* begins) {
  const i64 k = my_number();
  if (k > v.nnz) return;
  const bool is_first = k < v.nnz && keys[k] != v.none() && (k == 0 || keys[k] != keys[k - 1]);
  before[k] = is_first;
  if (is_first) atomicAdd(reinterpret_cast<unsigned long long*>(begins + keys[k] / u64(v.count)), 1ull);
}

static __global__ void add_kinds(SumView v, const u64* keys, const double* values, const i32* before, const double* diagonals,
                                 i32* columns, double* sums) {
  const i64 k = my_number();
  if (k >= v.nnz || before[k + 1] == before[k]) return;
  const u64 key = keys[k];
  double sum = 0;
  for (i64 m = k; m < v.nnz && keys[m] == key; m++) sum += values[m];
  const i64 row = i64(key / u64(v.count)), column = i64(key % u64(v.count));
  columns[before[k]] = i32(column);
  sums[before[k]] = aggregates::coarse_entry(row == column, sum, diagonals[row]);
}

}  // namespace sordino::aggregate_kernels
