// Device code: workers of a wide pass, and their courier, who keeps the ring full across tasks.
#pragma once
#include "sordino/trsv/cuda/courier.cuh"
#include "sordino/trsv/cuda/tensor_cores.cuh"
#include "sordino/trsv/cuda/wide_ring.cuh"

namespace sordino::trsv {

template <int P>
struct WideWorker : Worker<double, columns_of_tile, P> {
  WideRing& ring;

  using Base = Worker<double, columns_of_tile, P>;
  using Base::memory, Base::pass, Base::s;

  /// The values of slice k of a strip whose values begin so many behind those of the task; the number-th slice of all.
  __device__ Piece values_of(const QueuedTask& t, const Slices& slices, i64 before, i32 k, u32 number) const {
    return {memory + slices.place(k, number), s.values + t.values + before + i64(slices.first(k)) * slices.lead,
            slices.bytes(k)};
  }
  /// And the sources of the strip's rows, if it is its first one.
  __device__ Piece sources_of(const QueuedTask& t, const Strip& strip, const Slices& slices, i32 k, u32 number) const {
    if (k > 0) return {};
    return {memory + slices.place_of_sources(number), s.row_sources + t.block.source + strip.first,
            strip.rows * bytes_of_source, true};
  }
  /// b of the block's columns.
  __device__ Piece columns_of(const QueuedTask& t) const {
    return {reinterpret_cast<char*>(this->operands()), pass.b + i64(t.block.column) * P,
            t.block.width * P * i32(sizeof(double)), true};
  }
  __device__ Piece subtree_values_of(const QueuedTask& t) const { return {memory, s.values + t.values, t.value_bytes}; }
  __device__ Piece subtree_program_of(const QueuedTask& t) const {
    return {memory + t.value_bytes, s.programs + t.program, t.program_bytes};
  }
};
static_assert(sizeof(RowSources) == bytes_of_source);

template <int P>
struct WideCourier : Courier<double, columns_of_tile, P> {
  const WideWorker<P>& w;
  SliceOfTask next = {};   // of the task that is begun:
  i32 started = 0;         //   the next slice to start, behind so many
  u32 slices = 0;          // started so far, of all tasks
  u32 columns = 0;         // and copies of columns
  bool was_whole = false;  // the last one was of a strip that stays whole
  using Base = Courier<double, columns_of_tile, P>;
  using Base::desk;

  /// One task after the other: slices of the next one follow those of this one, as places become free, before this one is told
  /// of. False if the workers have lost a wait.
  __device__ bool serve() {
    this->fetch(0);
    if (w.lane() == 0) begin(0);
    wait_for<Meeting::task_known>();
    for (int slot = 0; is_task(slot); slot ^= 1) {
      this->fetch(slot ^ 1);
      come<Meeting::task_known>();
      if (w.lane() == 0 && start_slices(slot, all_slices)) begin(slot ^ 1);
      __syncwarp();
      wait_for<Meeting::task_done>();
      if (desk.ends) {
        if (w.lane() == 0) drain();
        return false;
      }
      this->tell(desk.task[slot]);
    }
    return true;
  }

 private:
  static constexpr i32 all_slices = 1 << 30;
  __device__ bool is_task(int slot) const { return desk.ticket[slot] < u32(w.s.count); }

  // --- one thread; false if the block ends ---------------------------------------------------------------------------------

  /// What there is room for of a task, behind all that was started before it.
  __device__ bool begin(int slot) {
    if (!is_task(slot)) return true;
    const QueuedTask& t = desk.task[slot];
    const u32 before = slices;
    if (t.kind != Task::Kind::strips) return start_subtrees(t);
    next = {.strip = t.first};
    started = 0;
    if (!start_slices(slot, places_of_ring)) return false;
    if (before > 0 && !await_used(before - 1)) return false;  // the operand is used as long as slices are
    w.ring.start_columns(w.columns_of(t));
    columns++;
    return true;
  }

  /// Up to so many of a task that was begun.
  __device__ bool start_slices(int slot, i32 end) {
    const QueuedTask& t = desk.task[slot];
    if (t.kind != Task::Kind::strips) return true;
    for (; next.strip < t.end && started < end; started++, slices++) {
      const Strip strip = strip_of(t.block, next.strip);
      const Slices of_strip(strip, P);
      if (!await_room(of_strip.whole)) return false;
      was_whole = of_strip.whole;
      w.ring.start(slices, w.values_of(t, of_strip, next.before, next.slice, slices),
                   w.sources_of(t, strip, of_strip, next.slice, slices));
      next = next.next(t.block, P);
    }
    return true;
  }
  /// For the next slice. Where a strip stays whole, nothing of other strips is in the ring.
  __device__ bool await_room(bool is_whole) const {
    const u32 back = next.slice == 0 && (is_whole || was_whole) ? 1 : places_of_ring;
    return slices < back || await_used(slices - back);
  }

  __device__ bool start_subtrees(const QueuedTask& t) {
    if (slices > 0 && !await_used(slices - 1)) return false;
    w.ring.start(slices, w.subtree_values_of(t), w.subtree_program_of(t));
    for (int k = 1; k < places_of_ring; k++) w.ring.start(slices + k, {}, {});
    slices += places_of_ring;
    was_whole = false;
    return true;
  }

  /// Whoever has used a slice has used all before it.
  __device__ bool await_used(u32 slice) const {
    while (!w.ring.is_used(slice))
      if (desk.ends) return false;
    return true;
  }

  /// Nothing comes any more to a block that is not there.
  __device__ void drain() const {
    for (u32 k = slices > places_of_ring ? slices - places_of_ring : 0; k < slices; k++) w.ring.drain(k);
    if (columns > 0) w.ring.drain_columns(columns - 1);
  }
};

}  // namespace sordino::trsv
