// Compiled without fused multiply-add (CMakeLists.txt): a row's sum has the bits of the host.
#include "sordino/trsv/cuda/level_kernel.hpp"

#include "sordino/trsv/cuda/level_memory.cuh"
#include "sordino/trsv/cuda/passes.cuh"
#include "sordino/trsv/cuda/solve_memory.cuh"

namespace sordino::trsv {
namespace {

/// A warp that takes slices of its rank's rows. With K columns of b a slice is taken K times: a lane has one row and one
/// column, and lanes that have the same row lie beside each other, as do their numbers of x. Of a long row, which the lanes
/// share, each time has one column.
template <class V, int K>
struct Substitution {
  /// Entries that a lane asks for at once.
  static constexpr int ahead = sizeof(V) <= 8 ? 4 : 2;

  const cuda::DeviceTeam& team;
  const LevelTables<V>& s;
  const LevelPass<V>& pass;
  V* const x;  // own place of this pass's

  static __device__ int lane() { return int(threadIdx.x) % 32; }

  __device__ V entry(V a) const {
    if constexpr (sizeof(V) == sizeof(Number))
      return pass.conjugate ? conjugate(a) : a;
    else
      return a;
  }

  /// One lane: its row is done.
  __device__ void finish(const LevelRow& row, int column, V b, V sum, V pivot) const {
    const V value = told((b - sum) * pivot);
    const i64 at = i64(row.place) * K + column;
    tell(x + at, value);
    for (u32 left = row.readers; left != 0; left &= left - 1)
      tell(team.at(__ffs(int(left)) - 1, s.x[pass.epoch & 1]) + at, value);
    pass.result[i64(row.row) * pass.stride + column] = value;
    look_at(value, pass);
  }

  /// The whole warp, the turn-th time of K; false if the wait is lost. Lanes never wait for one another, so rows of a slice may
  /// need each other: each looks at what it needs next, adds what is there, and stores its x as soon as that is known.
  __device__ bool compute(const LevelSlice& slice, int turn) const {
    const bool is_long = slice.rows == 0;
    const int stride = is_long ? 32 : slice.rows, of_slice = is_long ? 0 : (turn * 32 + lane()) / K;
    const int of_b = is_long ? turn : lane() % K;
    const bool has_row = is_long || of_slice < slice.rows;
    LevelRow row{};
    V pivot{}, b{}, sum{};
    if (has_row) {
      const i32 own = slice.first_row + of_slice;
      row = s.rows[own];
      pivot = entry(s.pivots[own]);
      b = pass.b[i64(row.row) * pass.stride + of_b];
    }
    const i32 count = is_long ? (row.count + 31 - lane()) / 32 : row.count;
    const i32 places = has_row ? slice.width : 0;  // are loaded without waiting for the row's count
    const i64 begin = slice.entries + (is_long ? lane() : of_slice);
    i32 first = 0, have = 0;  // entries first, ..., first + ahead - 1 are looked at; `have` of them have been added
    i32 column[ahead];
    V value[ahead];
    auto look = [&] {
#pragma unroll
      for (int u = 0; u < ahead; u++)
        if (first + u < places) {
          column[u] = s.columns[begin + i64(first + u) * stride];
          value[u] = entry(s.values[begin + i64(first + u) * stride]);
        }
    };
    look();
    bool done = !has_row;
    u64 memory = 1;
#pragma unroll 1
    for (u32 n = 1;; n++) {
      if (!done) {
        V needed[ahead];
#pragma unroll
        for (int u = 0; u < ahead; u++)
          if (u >= have && first + u < count) needed[u] = poll(x + i64(column[u]) * K + of_b);
#pragma unroll
        for (int u = 0; u < ahead; u++)
          if (u == have && first + u < count && is_there(needed[u])) {
            sum = sum + value[u] * needed[u];
            have++;
          }
        if (first + have == count) {
          done = true;
          if (!is_long) finish(row, of_b, b, sum, pivot);
        } else if (have == ahead) {
          first += ahead, have = 0;
          look();
        }
      }
      if (__all_sync(~0u, done)) break;
      if ((n & 0x3ff) == 0) {
        if (lane() == 0)
          memory = cuda::go_on_waiting(&team, memory, n, cuda::Wait::halo, s.channel, team.rank,
                                       cuda::flag_word(pass.epoch, false), 0u);
        if (__shfl_sync(~0u, memory, 0) == 0) return false;
      }
    }
    if (!is_long) return true;
#pragma unroll
    for (int half = sums_of_long_row / 2; half > 0; half /= 2) sum = sum + shuffle_down(sum, half);
    if (lane() == 0) finish(row, of_b, b, sum, pivot);
    return true;
  }
};

/// Warps take slices until there are none left, each the next ticket while it computes. Whoever holds a ticket waits for rows
/// of smaller ones only, which others hold, or have done, or of which one holds the next ticket while it still has a smaller
/// one: so it does not matter in which order blocks begin, or whether all are there at once. With two tickets in hand a warp
/// would know earlier where a slice lies, but slices that could begin wait longer behind others: 0.37 instead of 0.33 ms at
/// 128^3.
template <class V, int K>
__global__ void __launch_bounds__(level_threads) substitute(const __grid_constant__ cuda::DeviceTeam team,
                                                            const __grid_constant__ LevelTables<V> s,
                                                            const __grid_constant__ LevelPass<V> pass) {
  if (!wait_for_last_pass(team, s, pass.epoch)) return;
  const Substitution<V, K> by{team, s, pass, team.mine(s.x[pass.epoch & 1])};
  auto take = [&] { return by.lane() == 0 ? atomicAdd(s.tickets, 1u) : 0; };
  auto known = [&](u32 taken) { return __shfl_sync(~0u, taken, 0) - pass.first_ticket; };
  const u32 count = u32(s.count) * K;
  bool lost = false;
  for (u32 ticket = known(take()); ticket < count && !lost;) {
    const u32 next = take();
    lost = !by.compute(s.slices[ticket / K], int(ticket % K));
    ticket = known(next);
  }
  if (__syncthreads_or(lost)) return;
  forget(team.mine(s.x[(pass.epoch + 1) & 1]), pass.used);
  end_pass(team, s, pass.epoch);
}

}  // namespace

template <class V>
LevelKernel<V> level_kernel(int columns) {
  switch (columns) {
    case 1: return substitute<V, 1>;
    case 2: return substitute<V, 2>;
    case 4: return substitute<V, 4>;
    default: return substitute<V, 8>;
  }
}

template LevelKernel<float> level_kernel(int);
template LevelKernel<double> level_kernel(int);
template LevelKernel<Number> level_kernel(int);

}  // namespace sordino::trsv
