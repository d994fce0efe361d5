// Device code: how the workers of a thread block go through their tasks.
#pragma once
#include "sordino/trsv/cuda/courier.cuh"

namespace sordino::trsv {

/// The workers' part: false if a wait is lost. `carry`(slot, ahead, uses) carries out the task in a slot of the desk;
/// `Ahead` is what a thread knows of a task before. Where the courier is met when a wait is lost, `meeting`, it finds that the
/// block ends.
template <class Ahead, Meeting meeting = Meeting::values_used, class W, class Carry>
__device__ __forceinline__ bool work(const W& w, const Carry& carry) {
  Desk& desk = w.desk;
  Ahead ahead;
  u32 uses = 0;
  wait_for<Meeting::task_known>();
  look_ahead(w, 0, ahead);
  for (int slot = 0; desk.ticket[slot] < u32(w.s.count); slot ^= 1) {
    const QueuedTask& t = desk.task[slot];
    const i32 id = t.id;
    w.stamp(id, &TaskTrace::taken);
    if (!carry(slot, ahead, uses)) {
      desk.ends = true;
      come<meeting>();
      return false;
    }
    w.stamp(id, &TaskTrace::ended);
  }
  return true;
}

}  // namespace sordino::trsv
