// Device code: the phases of a command that are the same for all functors: finish, await, put, start. A tuned kernel uses the
// same functions, in the same order; all threads of the block call each of them, but finish, which is the first warp's.
#pragma once
#include "sordino/runtime/cuda/memory.cuh"
#include "sordino/runtime/cuda/sums.cuh"

namespace sordino::cuda {

constexpr int warps = block_threads / 32;

/// A block's shared memory.
struct Shared {
  double part[most_parts];  // of the reductions finished here
  double finished[most_finishes * most_values];
  bool stop;        // a stop request came with them
  bool go;          // what the first warp found out: the block has something to do
  u32 start_epoch;  // of the reduction that its rows' sums start
  double warp_sum[most_values][warps];
};

__device__ inline bool is_keeper() { return blockIdx.x == 0 && threadIdx.x == 0; }  // writes what the rank keeps
// `Told`: Args, or CollectArgs.
template <class Told>
__device__ inline i32 iteration_of(const Told& a) {
  return a.control->first_iteration + a.iteration;
}
template <class Told>
__device__ inline u32 epoch_of(const Told& a, const EpochRef& e) {
  return a.epochs[e.index] + e.offset;
}
template <class Told>
__device__ inline u32 place_of(const Told& a) {
  return place_in_order(iteration_of(a), a.commands, a.command);
}

// --- stamps: what a traced replay notes; in others each costs a look at a parameter -----------------------------------------

template <class Told>
__device__ inline Stamp* stamp_of(const Told& a) {
  if (!a.stamps) return nullptr;
  i64 place = i64(iteration_of(a)) * a.commands + a.command;
  return place < a.n_stamps ? a.stamps + place : nullptr;
}
/// Of a command that is cut into several launches the first one to begin counts.
__device__ inline void note_begin(const Args& a) {
  if (Stamp* stamp = stamp_of(a); stamp && stamp->begin == 0) stamp->begin = nanoseconds();
}
/// All threads of the block.
__device__ inline void note_end(const Args& a) {
  if (!a.stamps) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (Stamp* stamp = stamp_of(a)) atomicMax(reinterpret_cast<unsigned long long*>(&stamp->end), nanoseconds());
}
/// Some thread's: the last one to say so counts.
template <class Told>
__device__ inline void note_started(const Told& a) {
  if (Stamp* stamp = stamp_of(a)) atomicMax(reinterpret_cast<unsigned long long*>(&stamp->started), nanoseconds());
}

// --- finish --------------------------------------------------------------------------------------------------------------

/// The packet that a thread waits for first.
struct PartRef {
  const Packet* packet = nullptr;
  u32 epoch = 0;
};

/// `part` counts through all reductions that the command finishes.
__device__ inline PartRef part_ref(const Args& a, int part) {
#pragma unroll 1
  for (int j = 0; j < a.n_finishes; j++) {
    const FinishArgs& f = a.finish[j];
    int n = f.parts * f.values;
    if (part < n) {
      u32 epoch = epoch_of(a, f.epoch);
      return {f.packets + (epoch & 1) * n + part, epoch};
    }
    part -= n;
  }
  return {};
}

__device__ inline void book_finish(const Args& a, const Shared& s, u32 waited) {
  if (threadIdx.x == 0 && waited) a.control->waited_reduction += waited;
  if (threadIdx.x == 0 && s.stop && a.control->stop_seen_at == 0) a.control->stop_seen_at = place_of(a);
  if (Stamp* stamp = threadIdx.x == 0 ? stamp_of(a) : nullptr) {
    stamp->finished = nanoseconds();
    stamp->waited_reduction = waited;
  }
}

/// Sums made late: waits until the last of those that end here is due. The first warp, once all parts are there.
__device__ inline bool await_due(const Args& a) {
  const int j = threadIdx.x;
  if (j >= a.n_finishes || !a.finish[j].due) return true;
  fence_system();  // the sender noted the time before it sent
  const u32 epoch = epoch_of(a, a.finish[j].epoch);
  const u64 due = load_relaxed(a.finish[j].due + (epoch & 1));
  return spin(a, Wait::reduction, j, 0, flag_word(epoch, false), [&](u32&) { return nanoseconds() >= due; });
}

/// The first warp collects the parts of all reductions that end here and adds them, rank by rank: every rank gets the same
/// bits. `first` is what part_ref() said of this thread before the previous command had ended. False: halted, or the wait was
/// lost.
__device__ inline bool finish_reductions(const Args& a, Shared& s, PartRef first, bool halted) {
  bool lost = false;
  u32 waited = 0, words = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < a.parts && !lost; i += 32) {
    PartRef p = i < 32 ? first : part_ref(a, i);
    Packet got = load_packet(p.packet);  // on its way while `halted` is
    lost = halted;
    if (!lost && !is_epoch(u32(got.tag), p.epoch)) {
      u64 since = nanoseconds();
      lost = !await_packet(a, p.packet, p.epoch, 0, i, got);
      waited += u32(nanoseconds() - since);
    }
    s.part[i] = got.value;
    words |= u32(got.tag);
  }
  if (__any_sync(~0u, lost || halted)) return false;
  if (a.finishes_late) {
    u64 since = nanoseconds();
    if (__any_sync(~0u, !await_due(a))) return false;
    waited += u32(nanoseconds() - since);
  }
  s.stop = __any_sync(~0u, words & 1);
  __syncwarp();  // votes meet, but do not order memory: the parts are other lanes'
  const double* part = s.part;
#pragma unroll 1
  for (int j = 0; j < a.n_finishes; j++) {
    const FinishArgs& f = a.finish[j];
    if (int k = threadIdx.x; k < f.values) {
      double sum = 0;
#pragma unroll 1
      for (int p = 0; p < f.parts; p++) sum += part[p * f.values + k];
      s.finished[j * most_values + k] = sum;
      if (blockIdx.x == 0) a.scalars[f.to[k]] = sum;  // where later commands look
    }
    part += f.parts * f.values;
  }
  __syncwarp();
  if (blockIdx.x == 0) book_finish(a, s, __reduce_max_sync(~0u, waited));
  return true;
}

// --- await ---------------------------------------------------------------------------------------------------------------

/// Waits for the rows of all awaited vectors. One block, the `witness`, books it.
__device__ inline bool await_rows(const Args& a, bool witness) {
  bool lost = false;
  u32 word = 0, waited = 0;
#pragma unroll 1
  for (int j = 0; threadIdx.x < 32 && j < a.n_awaits; j++) {
    const AwaitArgs& w = a.await[j];
    u32 epoch = epoch_of(a, w.epoch);
#pragma unroll 1
    for (int p = threadIdx.x; p < w.peers && !lost; p += 32) {
      const u32* flag = w.flags + p * flag_stride;
      u32 seen = load_acquire(flag);  // what the peer wrote before it comes before what anybody reads behind the barrier
      if (!is_epoch(seen, epoch)) {
        u64 since = nanoseconds();
        lost = !spin(a, Wait::halo, j, p, flag_word(epoch, false), [&](u32& now) {
          seen = now = load_acquire(flag);
          return is_epoch(now, epoch);
        });
        waited += u32(nanoseconds() - since);
      }
      if (w.sent) word |= seen | *w.sent;
    }
  }
  if (__syncthreads_or(lost)) return false;
  if (!witness) return true;
  bool stop = __syncthreads_or(word & 1);
  if (threadIdx.x < 32) waited = __reduce_max_sync(~0u, waited);
  if (threadIdx.x == 0) {
    if (waited) a.control->waited_halo += waited;
    if (stop && a.control->stop_seen_at == 0) a.control->stop_seen_at = place_of(a);
    if (Stamp* stamp = stamp_of(a); stamp && stamp->awaited == 0) {  // later groups of the command find all there
      stamp->awaited = nanoseconds();
      stamp->waited_halo = waited;
    }
  }
  return true;
}

// --- put -----------------------------------------------------------------------------------------------------------------

/// Sends own row i, just computed by this thread, to whoever needs it.
__device__ inline void send_row(const Args& a, i32 i) {
#pragma unroll 1
  for (int j = 0; j < a.n_puts; j++) {
    const PutArgs& p = a.put[j];
    if (!p.by_rows) continue;
    double v = p.rows[i];
#pragma unroll 1
    for (int k = 0; k < p.n_segments; k++) {
      Segment g = p.segments[k];
      if (u32(i - g.first) < u32(g.count)) g.to[i] = v;
    }
    if (p.entries)
#pragma unroll 1
      for (i32 e = p.row_entries[i]; e < p.row_entries[i + 1]; e++) *p.entries[e].to = v;
  }
}

/// Sends rows that earlier commands computed.
__device__ inline void send_old_rows(const Args& a) {
  i32 first = blockIdx.x * block_threads + threadIdx.x, step = a.blocks * block_threads;
#pragma unroll 1
  for (int j = 0; j < a.n_puts; j++) {
    const PutArgs& p = a.put[j];
    if (p.by_rows) continue;
#pragma unroll 1
    for (int k = 0; k < p.n_segments; k++) {
      Segment g = p.segments[k];
#pragma unroll 1
      for (i32 i = g.first + first; i < g.first + g.count; i += step) g.to[i] = p.rows[i];
    }
#pragma unroll 1
    for (i32 e = first; e < p.n_entries; e += step) *p.entries[e].to = p.rows[p.entries[e].row];
  }
}

/// The request to stop that goes with rows: this rank's own; of rows that are handed on, what has come with them.
__device__ inline u32 stop_to_tell(const Args& a, const PutArgs& p) {
  if (!p.heard) return a.control->stop;
  u32 stop = 0;
#pragma unroll 1
  for (i32 k = 0; k < p.heard_from; k++) stop |= load_acquire(p.heard + k * flag_stride) & 1;
  return stop;
}

/// This block has sent its rows. The last block to say so raises the flags; nobody waits for another here.
__device__ inline void sent_rows(const Args& a) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (!is_last_block(&a.control->ticket, u32(a.senders))) return;
  if (iteration_of(a) == a.mute_at) return;
#pragma unroll 1
  for (int j = 0; j < a.n_puts; j++) {
    const PutArgs& p = a.put[j];
    u32 word = flag_word(epoch_of(a, p.epoch), stop_to_tell(a, p));
#pragma unroll 1
    for (int k = 0; k < p.peers; k++) store_relaxed(p.flags[k], word);
    *p.sent = word;
  }
  if (Stamp* stamp = stamp_of(a)) stamp->sent = nanoseconds();
}

// --- start ---------------------------------------------------------------------------------------------------------------

/// Where rank `target` looks for this rank's sums of an epoch.
__device__ inline auto packets_of(const StartArgs& start, int values, u32 epoch) {
  return
      [&start, place = i32((epoch & 1) * start.parts + start.place) * values](i32 target) { return start.to[target] + place; };
}
/// The place of the first packet that this thread's lane sends.
__device__ inline Packet* first_packet(const StartArgs& start, int values, u32 epoch) {
  return place_of_packet(values, start.targets, i32(threadIdx.x % 32), packets_of(start, values, epoch));
}

/// Sums made late: when this rank may take them at the earliest. Some thread's, before its warp sends them.
__device__ inline void note_due(const StartArgs& start, u32 epoch) {
  store_relaxed(start.due + (epoch & 1), nanoseconds() + start.due[2]);
  fence_system();
}

/// The first warp, whose lane k < `values` has the rank's k-th sum, sends them to all ranks. `place`: first_packet().
template <class Told>
__device__ __forceinline__ void send_sums(const Told& a, int values, double sum, u32 epoch, u32 word, Packet* place) {
  if (a.start.due) {
    if (threadIdx.x == 0) note_due(a.start, epoch);
    __syncwarp();
  }
  push_sums(values, a.start.targets, sum, word, place, packets_of(a.start, values, epoch));
  if (threadIdx.x == 0) note_started(a);
}

/// Every block hands in its sums; the last block of the grid, which has the least rows, adds and sends them, unless the next
/// command does. That one waits for them: where they go is looked up before they are there.
template <int K>
__device__ inline void start_reduction(const Args& a, Shared& s, double (&sums)[K]) {
  const u32 epoch = s.start_epoch;
  const bool sends = !a.start.handed_on && blockIdx.x == gridDim.x - 1 && threadIdx.x < 32;
  const bool mute = sends && iteration_of(a) == a.mute_at;
  const u32 stop = sends && a.start.tells_stop ? a.control->stop : 0;
  Packet* place = sends ? first_packet(a.start, K, epoch) : nullptr;
  const Partials at{a.start.partials, a.start.stride, a.start.slot};
  double sum;
  if (!grid_sum<K>(a, at, epoch, sums, s.warp_sum, sum, a.start.handed_on) || !sends || mute) return;
  send_sums(a, K, sum, epoch, flag_word(epoch, stop), place);
}

}  // namespace sordino::cuda
