// Device code: passes of 16 or 32 columns of doubles on the way from the leaves to the root, by tensor cores. Each value of a
// strip is read from memory once for all columns. A block's columns, b less the children's sums, are made once for a task of
// several strips, which come one after the other; subtrees, whose values are at hand, are solved for eight columns at a time.
//
// Each warp has eight or sixteen columns of its own, for all rows or half of them, and keeps products in registers until they
// are stored. Sums have the order that they have in a pass of eight.
#pragma once
#include "sordino/trsv/cuda/forward.cuh"

namespace sordino::trsv {

template <int P>
using WideWorker = Worker<double, columns_of_tile, P>;

/// What a thread knows of a task before it waits.
struct WideAhead {
  RowSources columns[columns_of_thread];
  i32 need;
};

/// Workers, for the task in `slot`, if there is one. Nothing that it loads is waited for here.
template <int P>
__device__ __forceinline__ void look_ahead(const WideWorker<P>& w, int slot, WideAhead& a) {
  if (w.desk.ticket[slot] >= u32(w.s.count)) return;
  const QueuedTask& t = w.desk.task[slot];
  a.need = w.first_need(t);
  if (t.kind != Task::Kind::strips) return;
#pragma unroll
  for (int q = 0; q < columns_of_thread; q++)
    if (const i32 j = w.thread() + q * worker_threads; j < t.block.width) a.columns[q] = w.s.row_sources[t.block.source + j];
}

// --- sums ------------------------------------------------------------------------------------------------------------------

/// Two neighbouring columns of a slot's sum, which is known to be there.
template <int P>
__device__ __forceinline__ double2 two_of_slot(const WideWorker<P>& w, i32 slot, int column) {
  return __ldcg(reinterpret_cast<const double2*>(w.team.mine(w.s.sums) + w.pass.sums + i64(slot) * P + column));
}
template <int P>
__device__ __forceinline__ void add_more_of_two(const WideWorker<P>& w, i32 count, i32 more, int column, double2& sum) {
  for (i32 e = 2; e < count; e++) add_to(sum, two_of_slot(w, w.s.sources[more + e - 2], column));
}

/// A warp: takes the children's sums from b of 32 columns of the block, `first` and those behind it, whose sources its lanes
/// have, one each. As many lanes share a row as it has pairs; several rows are on their way at once.
template <int P>
__device__ __forceinline__ void subtract_sums(const WideWorker<P>& w, const Block& b, i32 first, const RowSources& mine) {
  constexpr int lanes = P / 2, rows_at_once = 32 / lanes, N = 4;
  const int column = 2 * (w.lane() % lanes), end = min(32, b.width - first);
#pragma unroll 1
  for (int at = w.lane() / lanes; at - w.lane() / lanes < end; at += N * rows_at_once) {
    RowSources from[N];
    double2 sum[N][2];
#pragma unroll
    for (int n = 0; n < N; n++) {
      const int row = (at + n * rows_at_once) & 31;
      from[n] = {__shfl_sync(~0u, mine.count, row), __shfl_sync(~0u, mine.first, row), __shfl_sync(~0u, mine.second, row),
                 __shfl_sync(~0u, mine.more, row)};
      if (at + n * rows_at_once >= end) from[n].count = 0;
      sum[n][0] = from[n].count > 0 ? two_of_slot(w, from[n].first, column) : double2{};
      sum[n][1] = from[n].count > 1 ? two_of_slot(w, from[n].second, column) : double2{};
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
      if (from[n].count == 0) continue;
      const i32 j = first + at + n * rows_at_once;
      add_to(sum[n][0], sum[n][1]);
      add_more_of_two(w, from[n].count, from[n].more, column, sum[n][0]);
      double2* const operand = reinterpret_cast<double2*>(w.operands() + i64(j) * P + wide_place(column, b.column + j));
      const double2 of_b = *operand;
      *operand = {of_b.x - sum[n][0].x, of_b.y - sum[n][0].y};
    }
  }
}

/// Workers: b of the block's columns, which is at hand, becomes the operand of its product.
template <int P>
__device__ __forceinline__ void make_operand(const WideWorker<P>& w, const Block& b, const WideAhead& a) {
#pragma unroll
  for (int q = 0; q < columns_of_thread; q++)
    if (const i32 first = 32 * w.warp() + q * worker_threads; first < b.width) subtract_sums(w, b, first, a.columns[q]);
  for (i32 first = 32 * w.warp() + columns_of_thread * worker_threads; first < b.width; first += worker_threads) {
    RowSources mine;  // of a wider block
    if (first + w.lane() < b.width) mine = w.s.row_sources[b.source + first + w.lane()];
    subtract_sums(w, b, first, mine);
  }
}

// --- products --------------------------------------------------------------------------------------------------------------

/// What a lane knows of its rows: of one of the block's own, `count` is -1 and `first` the row of the caller's; of one that is
/// none, -2.
struct TileRows {
  RowSources from[most_tiles];
};
template <class T, int P>
__device__ __forceinline__ void look_at_rows(const WideWorker<P>& w, const Block& b, i32 first, i32 end, TileRows& rows) {
#pragma unroll
  for (int k = 0; k < T::count; k++) {
    const i32 i = first + T::row(k, w.lane() / 4);
    if (i >= end)
      rows.from[k].count = -2;
    else if (i < b.width)
      rows.from[k] = {-1, w.s.order[b.column + i]};
    else
      rows.from[k] = w.s.row_sources[b.source + i];
  }
}

/// Two columns of a row of the caller's, or of a slot, here and where the parent is.
template <int P>
__device__ __forceinline__ void store_two(const WideWorker<P>& w, const Block& b, const RowSources& from, i32 i, int column,
                                          double2 sum, const double (&product)[2], u32 readers) {
  if (from.count == -1)
    w.store_two_results(from.first, column, double2{product[0], product[1]});
  else
    w.store_two_sums(b.slot + i - b.width, column, double2{sum.x + product[0], sum.y + product[1]}, readers);
}

/// One warp: rows `first`, ... of a front, which begin a strip or come `in_strip` rows behind that, times eight columns, and
/// what was known of them. Children's sums are fetched meanwhile. `used` is called when values and operand have been read.
template <class T, int P, class Used>
__device__ __forceinline__ void carry_out_tiles(const WideWorker<P>& w, const QueuedTask& t, const Strip& strip, int in_strip,
                                                const double* values, int tile_column, TileRows& rows, const Used& used) {
  const Block& b = t.block;
  const int g = w.lane() / 4, k = w.lane() % 4, column = columns_of_tile * tile_column + 2 * k;
  double2 sums[T::count][2];
#pragma unroll
  for (int n = 0; n < T::count; n++) {
    sums[n][0] = rows.from[n].count > 0 ? two_of_slot(w, rows.from[n].first, column) : double2{};
    sums[n][1] = rows.from[n].count > 1 ? two_of_slot(w, rows.from[n].second, column) : double2{};
  }
  double d[T::count][2];
  multiply_tiles<T, P>(values + in_strip, strip, w.operands() + wide_place(columns_of_tile * tile_column + g, b.column + k), d);
  used();
#pragma unroll
  for (int n = 0; n < T::count; n++) {
    if (rows.from[n].count == -2) continue;
    add_to(sums[n][0], sums[n][1]);
    add_more_of_two(w, rows.from[n].count, rows.from[n].more, column, sums[n][0]);
    store_two(w, b, rows.from[n], strip.first + in_strip + T::row(n, g), column, sums[n][0], d[n], t.readers);
  }
}

/// Workers: all rounds of strips. Of those after the first nobody has waited for the values yet. Told to be used as soon as a
/// warp has read what it needs.
template <int P>
__device__ __forceinline__ void multiply_rounds(const WideWorker<P>& w, const QueuedTask& t, u32& uses) {
  constexpr int tiles = P / columns_of_tile, shares = worker_warps / tiles;
  constexpr int rows_of_unit = shares == 1 ? most_rows_of_tiles : 16;
  const Block& b = t.block;
  const int tile_column = w.warp() % tiles, share = w.warp() / tiles;
  const int units_of_strip = (b.strip_rows + rows_of_unit - 1) / rows_of_unit;
  StripRound r = strip_round(b, t.first, t.end, 0);
  for (int round = 0; round < t.rounds; round++) {
    bool is_here = round == 0;
    auto wait = [&] {
      if (!is_here) w.desk.copy.wait(w.pieces_of(t, round), uses);
      is_here = true;
    };
    const int units = (r.end - r.first) * units_of_strip;
    const double* values = reinterpret_cast<const double*>(w.memory);
    i32 k = r.first;
#pragma unroll 1
    for (int unit = share; unit < units; unit += shares) {
      for (; k < r.first + unit / units_of_strip; k++) values += strip_of(b, k).size();
      const Strip strip = strip_of(b, k);
      const int in_strip = unit % units_of_strip * rows_of_unit, rows = min(rows_of_unit, strip.rows - in_strip);
      auto used = [&] {
        if (unit + shares >= units) come<Meeting::values_used>();
      };
      if (rows <= 0) {
        wait();
        used();
        continue;
      }
      with_tiles<rows_of_unit>(rows, [&](auto kind) {
        using T = decltype(kind);
        TileRows of_tiles;
        look_at_rows<T>(w, b, strip.first + in_strip, strip.first + strip.rows, of_tiles);
        wait();
        carry_out_tiles<T>(w, t, strip, in_strip, values, tile_column, of_tiles, used);
      });
    }
    if (share >= units) {
      wait();
      come<Meeting::values_used>();
    }
    if (round + 1 < t.rounds) r = next_round(b, t.end, r);
  }
}

/// Workers: the task in `slot`; false if a wait was lost. `a` is of this task, and then of the next one, which is looked at
/// while this one is multiplied.
template <int P>
__device__ __forceinline__ bool carry_forward(const WideWorker<P>& w, int slot, WideAhead& a, u32& uses) {
  const QueuedTask& t = w.desk.task[slot];
  const bool is_strips = t.kind == Task::Kind::strips;
  if (is_strips) w.wait_for_hints(t, a.need);
  w.desk.copy.wait(w.pieces_of(t), uses);
  if (is_strips) {
    if (w.desk.lost) return false;
    w.stamp(t.id, &TaskTrace::began);
    make_operand(w, t.block, a);
    let_copies_follow();
    meet_workers();
  }
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  if (is_strips) {
    multiply_rounds(w, t, uses);
  } else {
#pragma unroll 1
    for (int first = 0; first < P; first += columns_of_tile) {
      const WideWorker<P> some{w.team, w.s, w.pass, w.desk, w.memory, first};
      load_columns(some, t);
      multiply_subtrees(some, t);
      store_subtrees(some, t, reinterpret_cast<const SmallBlock*>(w.program_of(t)));
    }
    let_copies_follow();
    come<Meeting::values_used>();
  }
  come<Meeting::task_done>();
  return true;
}

}  // namespace sordino::trsv
