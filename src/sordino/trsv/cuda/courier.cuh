// Device code: the fifth warp of a thread block.
#pragma once
#include "sordino/trsv/cuda/workers.cuh"

namespace sordino::trsv {

template <class V, int K, int P = K>
struct Courier {
  const Worker<V, K, P>& w;
  Desk& desk = w.desk;

  /// One task after the other: the next one is known, and its values are on their way, before this one is told of. False if the
  /// workers have lost a wait.
  __device__ bool serve() const {
    fetch(0);
    let_come(0, 0);
    wait_for<Meeting::task_known>();  // they are all there: nobody is late for this one when the next one is known
    for (int slot = 0; desk.ticket[slot] < u32(w.s.count); slot ^= 1) {
      fetch(slot ^ 1);
      come<Meeting::task_known>();
      const int rounds = desk.task[slot].rounds;
      for (int round = 1; round <= rounds; round++) {
        wait_for<Meeting::values_used>();
        if (desk.ends) return false;
        round < rounds ? let_come(slot, round) : let_come(slot ^ 1, 0);
      }
      wait_for<Meeting::task_done>();
      tell(desk.task[slot]);
    }
    return true;
  }

 protected:
  /// Takes the next ticket, and looks what task that is.
  __device__ void fetch(int slot) const {
    u32 ticket = 0;
    if (w.lane() == 0)
      ticket = w.pass.one_each && slot == 1 ? u32(w.s.count) : atomicAdd(w.s.tickets, 1u) - w.pass.first_ticket;
    ticket = __shfl_sync(~0u, ticket, 0);
    if (w.lane() == 0) desk.ticket[slot] = ticket;
    constexpr int words = sizeof(QueuedTask) / sizeof(u32);
#pragma unroll
    for (int k = 0; k < words; k += 32)
      if (ticket < u32(w.s.count) && k + w.lane() < words)
        reinterpret_cast<u32*>(&desk.task[slot])[k + w.lane()] = reinterpret_cast<const u32*>(w.s.tasks + ticket)[k + w.lane()];
    __syncwarp();
  }

  __device__ void let_come(int slot, int round) const {
    const QueuedTask& t = desk.task[slot];
    if (w.lane() == 0 && desk.ticket[slot] < u32(w.s.count) && t.value_bytes > 0) desk.copy.start(w.pieces_of(t, round));
  }

  /// The workers have written all that others read; it may still be on its way, but for wide passes.
  __device__ void tell(const QueuedTask& t) const {
    if constexpr (w.is_wide) w.fence();
    const bool own = w.lane() == w.team.rank;
    if (own || (w.lane() < w.team.ranks && (t.readers >> w.lane() & 1))) {
      cuda::store_relaxed(w.team.at(w.lane(), w.s.flags) + t.id, cuda::flag_word(w.pass.epoch, false));
    }
    __syncwarp();
  }
};

}  // namespace sordino::trsv
