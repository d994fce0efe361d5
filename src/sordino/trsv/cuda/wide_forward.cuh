// Device code: passes of 16 or 32 columns of doubles on the way from the leaves to the root, by tensor cores. Each value of a
// strip is read from memory once for all columns. A block's columns, b less the children's sums, are made once for a task of
// several strips, which come slice by slice; subtrees, whose values are at hand, are solved for eight columns at a time.
//
// Each warp has sixteen columns of its own, and a share of a strip's rows (wide_shapes.hpp), and keeps products in registers
// until they are stored. Sums have the order that they have in a pass of eight.
#pragma once
#include "sordino/trsv/cuda/forward.cuh"
#include "sordino/trsv/cuda/wide_courier.cuh"

namespace sordino::trsv {

/// What a thread knows of a task before it waits, and which copy of columns is the next one.
struct WideAhead {
  RowSources columns[columns_of_thread];
  i32 need;
  u32 copy = 0;
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

/// Slots' sums of a pass, which are known to be there, two neighbouring columns at once.
template <int P>
struct SumsOfPair {
  const WideWorker<P>& w;
  int column;

  __device__ __forceinline__ double2 of_slot(i32 slot) const {
    return __ldcg(reinterpret_cast<const double2*>(w.team.mine(w.s.sums) + w.pass.sums + i64(slot) * P + column));
  }
  /// Of a row that has more than two.
  __device__ __forceinline__ void add_more(const RowSources& from, double2& sum) const {
    for (i32 e = 2; e < from.count; e++) add_to(sum, of_slot(w.s.sources[from.more + e - 2]));
  }
};

/// A warp: takes the children's sums from b of 32 columns of the block, `first` and those behind it, whose sources its lanes
/// have, one each. As many lanes share a row as it has pairs; several rows are on their way at once.
template <int P>
__device__ __forceinline__ void subtract_sums(const WideWorker<P>& w, const Block& b, i32 first, const RowSources& mine) {
  constexpr int lanes = P / 2, rows_of_load = 32 / lanes, N = P / 4;
  const int column = 2 * (w.lane() % lanes), end = min(32, b.width - first);
  const SumsOfPair<P> sums{w, column};
#pragma unroll 1
  for (int at = w.lane() / lanes; at - w.lane() / lanes < end; at += N * rows_of_load) {
    int count[N];
    double2 sum[N][2];
#pragma unroll
    for (int n = 0; n < N; n++) {
      const int row = at + n * rows_of_load;
      count[n] = __shfl_sync(~0u, mine.count, row);
      const i32 one = __shfl_sync(~0u, mine.first, row), other = __shfl_sync(~0u, mine.second, row);
      if (row >= end) count[n] = 0;
      sum[n][0] = count[n] > 0 ? sums.of_slot(one) : double2{};
      sum[n][1] = count[n] > 1 ? sums.of_slot(other) : double2{};
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
      if (count[n] == 0) continue;
      const i32 j = first + at + n * rows_of_load;
      add_to(sum[n][0], sum[n][1]);
      if (count[n] > 2) sums.add_more(w.s.row_sources[b.source + j], sum[n][0]);
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

/// Sums over a strip's columns that a lane has, of the rows of its tiles and two columns of b. Four of each are on their way at
/// once: [tile][chain][column][row].
template <class T>
struct StripSums {
  double of[T::count][4][2][2] = {};
};
/// What they come to: [tile][row], two columns each.
template <class T>
struct Products {
  double2 of[T::count][2];

  __device__ __forceinline__ explicit Products(const StripSums<T>& sums) {
#pragma unroll
    for (int n = 0; n < T::count; n++)
#pragma unroll
      for (int q = 0; q < 2; q++) {
        const auto& s = sums.of[n];
        of[n][q] = {(s[0][0][q] + s[1][0][q]) + (s[2][0][q] + s[3][0][q]),
                    (s[0][1][q] + s[1][1][q]) + (s[2][1][q] + s[3][1][q])};
      }
  }
};

/// One warp: adds a slice's rows of tiles, whose values begin at `values`, times its sixteen columns of b. `operand`: the
/// lane's place in the row of its first column. Rows that there are not are anything.
template <class T, int P>
__device__ __forceinline__ void multiply_slice(const double* values, const Strip& strip, i32 columns, const double* operand,
                                               StripSums<T>& sums) {
  const int of_warp = int(threadIdx.x) % 32;
  const ProductLane lane(of_warp);
  const double* const of_lane = values + values_of_lane(strip, of_warp);
  auto add = [&](int chain, i32 j, bool is_column) {
    // Nothing lies behind the last column.
    const double* const at = (is_column ? of_lane + j * strip.lead : values) + T::row(0, lane.group);
    const double2 b = is_column ? *reinterpret_cast<const double2*>(operand + j * P) : double2{};
    auto multiply = [&](int tile, double value) {
      double (&d)[2][2] = sums.of[tile][chain];
      multiply_add(d[0], d[1], b.x, b.y, is_column ? value : 0);
    };
    if constexpr (T::count == 2) {
      const double2 two = *reinterpret_cast<const double2*>(at);
      multiply(0, two.x);
      multiply(1, two.y);
    } else {
      multiply(0, *at);
    }
  };
  i32 j = 0;
#pragma unroll 1
  for (; j + 16 <= columns; j += 16)
#pragma unroll
    for (int c = 0; c < 4; c++) add(c, j + 4 * c, true);
#pragma unroll 1
  for (; j < columns; j += 4) add(0, j, j + lane.member < columns);
}

/// What the children have for the rows that a lane has of a strip, two columns each: their first sums, which are on their way
/// until they are added. Of rows that get more, few, a bit is set.
template <class T>
struct FirstSums {
  double2 of[T::count][2];
  u32 are_more = 0;
};
/// `sources`: of the strip's rows.
template <class T, int P>
__device__ __forceinline__ void fetch_first_sums(const WideWorker<P>& w, const Block& b, const Strip& strip,
                                                 const ShareOfRows& mine, const RowSources* sources, int column,
                                                 FirstSums<T>& found) {
  const SumsOfPair<P> sums{w, column};
#pragma unroll
  for (int n = 0; n < T::count; n++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int row = row_of_sum<T>(n, w.lane(), q);
      i32 count = 0, first = 0;
      if (row < mine.rows && strip.first + mine.first + row >= b.width)
        count = sources[mine.first + row].count, first = sources[mine.first + row].first;
      found.of[n][q] = count > 0 ? sums.of_slot(first) : double2{};
      found.are_more |= u32(count > 1) << (2 * n + q);
    }
}

/// One warp: results, and sums for rows below.
template <class T, int P>
__device__ __forceinline__ void store_strip(const WideWorker<P>& w, const QueuedTask& t, const Strip& strip,
                                            const ShareOfRows& mine, int column, const Products<T>& products,
                                            const FirstSums<T>& found) {
  const Block& b = t.block;
#pragma unroll
  for (int n = 0; n < T::count; n++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int row = row_of_sum<T>(n, w.lane(), q);
      const i32 i = strip.first + mine.first + row;
      if (row >= mine.rows) continue;
      const double2 product = products.of[n][q];
      if (i < b.width) {
        w.store_two_results(w.s.order[b.column + i], column, product);
        continue;
      }
      double2 sum = found.of[n][q];
      if (found.are_more >> (2 * n + q) & 1) {
        const RowSources from = w.s.row_sources[b.source + i];
        const SumsOfPair<P> sums{w, column};
        add_to(sum, sums.of_slot(from.second));
        sums.add_more(from, sum);
      }
      w.store_two_sums(b.slot + i - b.width, column, double2{sum.x + product.x, sum.y + product.y}, t.readers);
    }
}

/// Where a worker is among what comes: the next strip of its task, its first slice among those of all tasks, and how many
/// values of the task come before.
struct StripAhead {
  i32 strip;
  u32 number;
  i64 before;
};

/// One warp: the slices of a strip as they come. `take`(slice, where its values lie). Where a strip stays whole it takes them
/// several times, and has used them after the `is_last`.
template <int P, class Take>
__device__ __forceinline__ void take_slices(const WideWorker<P>& w, const QueuedTask& t, const Strip& strip,
                                            const StripAhead& a, const Slices& slices, bool is_last, const Take& take) {
#pragma unroll 1
  for (i32 k = 0; k < slices.count; k++) {
    const u32 number = a.number + u32(k);
    w.ring.wait(number, w.values_of(t, slices, a.before, k, number), w.sources_of(t, strip, slices, k, number));
    take(k, reinterpret_cast<const double*>(w.memory + slices.place(k, number)));
    if (is_last) w.ring.use(number);
  }
}

/// One warp, whose rows of a strip are the tiles T. The children's sums are fetched meanwhile.
template <class T, int P>
__device__ __forceinline__ void carry_out_tiles(const WideWorker<P>& w, const QueuedTask& t, const Strip& strip,
                                                const StripAhead& a, const Slices& slices, const ShareOfRows& mine, int column,
                                                bool is_last) {
  const double* const operand = w.operands() + operand_of_lane(P, column, t.block.column, w.lane());
  StripSums<T> sums;
  FirstSums<T> found;
  take_slices(w, t, strip, a, slices, is_last, [&](i32 k, const double* values) {
    if (k == 0) {
      const auto* const sources = reinterpret_cast<const RowSources*>(w.memory + slices.place_of_sources(a.number));
      fetch_first_sums<T>(w, t.block, strip, mine, sources, column, found);
    }
    const i32 first = slices.first(k);
    multiply_slice<T, P>(values + mine.first, strip, slices.first(k + 1) - first, operand + first * P, sums);
  });
  store_strip<T>(w, t, strip, mine, column, Products<T>(sums), found);
}

/// Workers: all strips of a task.
template <int P>
__device__ __forceinline__ void multiply_long_task(const WideWorker<P>& w, const QueuedTask& t, u32& slices_so_far) {
  constexpr int sixteens = P / columns_of_warp;
  const int share = w.warp() / sixteens, column = column_of_lane(columns_of_warp * (w.warp() % sixteens), w.lane());
#pragma unroll 1
  for (StripAhead a{t.first, slices_so_far, 0}; a.strip < t.end; a.strip++) {
    const Strip strip = strip_of(t.block, a.strip);
    const Slices slices(strip, P);
#pragma unroll 1
    for (i32 begin = 0; begin < strip.rows; begin += rows_at_once(P)) {
      const bool is_last = begin + rows_at_once(P) >= strip.rows;
      const ShareOfRows mine = share_of_rows(strip, a.strip, begin, share, P);
      if (mine.rows <= 0)
        take_slices(w, t, strip, a, slices, is_last, [](i32, const double*) {});
      else
        with_tiles(mine.rows,
                   [&](auto kind) { carry_out_tiles<decltype(kind)>(w, t, strip, a, slices, mine, column, is_last); });
    }
    a.number += u32(slices.count);
    a.before += strip.size();
    slices_so_far = a.number;
  }
}

/// Workers: all subtrees of a task.
template <int P>
__device__ __forceinline__ void multiply_all_subtrees(const WideWorker<P>& w, const QueuedTask& t, u32& slices) {
  w.ring.wait(slices, w.subtree_values_of(t), w.subtree_program_of(t));
#pragma unroll 1
  for (int k = 1; k < places_of_ring; k++) w.ring.wait(slices + k, {}, {});
#pragma unroll 1
  for (int first = 0; first < P; first += columns_of_tile) {
    const Worker<double, columns_of_tile, P> some{w.team, w.s, w.pass, w.desk, w.memory, first};
    load_columns(some, t);
    multiply_subtrees(some, t);
    store_subtrees(some, t, reinterpret_cast<const SmallBlock*>(w.program_of(t)));
  }
  let_copies_follow();
#pragma unroll 1
  for (int k = 0; k < places_of_ring; k++, slices++) w.ring.use(slices);
}

/// Workers: the task in `slot`; false if a wait was lost. `a` is of this task, and then of the next one, which is looked at
/// while this one is multiplied. `slices`: so many have come before.
template <int P>
__device__ __forceinline__ bool carry_forward(const WideWorker<P>& w, int slot, WideAhead& a, u32& slices) {
  const QueuedTask& t = w.desk.task[slot];
  const bool is_strips = t.kind == Task::Kind::strips;
  if (is_strips) {
    w.wait_for_hints(t, a.need);
    if (w.desk.lost) return false;
    w.ring.wait_for_columns(a.copy++, w.columns_of(t));
    w.stamp(t.id, &TaskTrace::began);
    make_operand(w, t.block, a);
    let_copies_follow();
    meet_workers();
  }
  wait_for<Meeting::task_known>();
  look_ahead(w, slot ^ 1, a);
  is_strips ? multiply_long_task(w, t, slices) : multiply_all_subtrees(w, t, slices);
  come<Meeting::task_done>();
  return true;
}

}  // namespace sordino::trsv
