// Device code: loads and stores that other blocks, or other devices, look at; and bounded waiting.
#pragma once
#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

__device__ inline u32 load_relaxed(const u32* p) {
  u32 v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline u64 load_relaxed(const u64* p) {
  u64 v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline u32 load_acquire(const u32* p) {
  u32 v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_relaxed(u32* p, u32 v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ inline void store_relaxed(u64* p, u64 v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

// A scalar access of 128 bits is one access in PTX's memory model (a vector of two 64 bit words would not be).
__device__ inline Packet load_packet(const Packet* p) {
  Packet v;
  asm volatile("{ .reg .b128 q; ld.relaxed.sys.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
               : "=d"(v.value), "=l"(v.tag)
               : "l"(p)
               : "memory");
  return v;
}
__device__ inline void store_packet(Packet* p, Packet v) {
  asm volatile(
      "{ .reg .b128 q; .reg .b64 a; mov.b64 a, %1; mov.b128 q, {a, %2}; st.relaxed.sys.global.b128 [%0], q; }" ::"l"(p),
      "d"(v.value), "l"(v.tag)
      : "memory");
}

/// What this thread knows to be written is written, on every device, before anything it writes next.
__device__ inline void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
/// The same, on this device.
__device__ inline void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ inline u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// A command is launched while the one ahead of it still runs: its blocks take their places, and stop here until all that the
// other wrote is visible. Every block of every command passes here before it touches memory that commands write, so the order
// of a queue holds over any distance.
__device__ inline void wait_for_previous_command() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void let_next_command_come() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// --- bounded waiting -----------------------------------------------------------------------------------------------------
// Whoever waits is a `Waiter`: a command's Args, CollectArgs, or a DeviceTeam. It has `control` (halt, patience, fault and
// cause, in the rank's own memory), `engine` (abort word and signs of life, in host memory), `ranks`, and a give_up() that
// records what was waited for in vain.

/// The first block to lose patience says for what; all that the rank runs afterwards is void.
template <class Control>
__device__ inline void record_fault(Control& control, const FaultRecord& cause) {
  if (atomicCAS(&control.fault, 0u, 1u) != 0) return;
  control.cause = cause;
  __threadfence();
  store_relaxed(&control.halt, from_the_start);
}

/// `Told`: Args, or CollectArgs.
template <class Told>
__device__ inline void give_up(const Told& a, Wait what, i32 channel, i32 from, u32 expected, u32 seen) {
  record_fault(*a.control,
               {what, a.command, a.control->first_iteration + a.iteration, channel, from, expected >> 1, seen >> 1});
}

/// Whether waiting still makes sense: no block or rank has failed, and somebody showed a sign of life within `patience`. Called
/// every 2^10 polls; what lies across the bus, which is slow, is looked at every 2^14. `memory`: low half, signs of life so
/// far; high half, when they last changed, in units of 1,024 ns. Returns the new memory, or 0 if the wait is lost. (A call that
/// is not inlined would cost the whole kernel registers.)
template <class Waiter>
__device__ __forceinline__ u64 go_on_waiting(const Waiter* a, u64 memory, u32 polls, Wait what, i32 channel, i32 from,
                                             u32 expected, u32 seen) {
  if (load_relaxed(&a->control->halt)) return 0;
  if (polls & 0x3fff) return memory;
  if (load_relaxed(&a->engine->abort)) {
    store_relaxed(&a->control->halt, from_the_start);
    return 0;
  }
  u32 beats = 0, now = u32(nanoseconds() >> 10);
#pragma unroll 1
  for (int r = 0; r < a->ranks; r++)
    beats += load_relaxed(&a->engine->beats[r].host) + load_relaxed(&a->engine->beats[r].device);
  const u64 set = u64(1) << 63;  // distinguishes a memory from none
  if (!(memory & set) || beats != u32(memory)) return set | u64(now & 0x7fffffff) << 32 | beats;
  u32 calm = (now - u32(memory >> 32)) & 0x7fffffff;
  if (a->control->patience == 0 || calm <= a->control->patience) return memory;
  give_up(*a, what, channel, from, expected, seen);
  return 0;
}

/// Polls until `poll(seen)` is true; false if the wait is lost. `poll` may change `from`, where it waits for several.
template <class Waiter, class Poll>
__device__ inline bool spin(const Waiter& a, Wait what, i32 channel, const i32& from, u32 expected, Poll poll) {
  u32 seen = 0;
  u64 memory = 1;
#pragma unroll 1
  for (u32 n = 1; !poll(seen); n++)
    if ((n & 0x3ff) == 0) {
      memory = go_on_waiting(&a, memory, n, what, channel, from, expected, seen);
      if (memory == 0) return false;
    }
  return true;
}

/// Polls until the packet of this epoch has arrived.
template <class Waiter>
__device__ inline bool await_packet(const Waiter& a, const Packet* packet, u32 epoch, i32 channel, i32 from, Packet& got) {
  return spin(a, Wait::reduction, channel, from, flag_word(epoch, false), [&](u32& seen) {
    got = load_packet(packet);
    seen = u32(got.tag);
    return is_epoch(seen, epoch);
  });
}

/// Of one thread a block: whether the `blocks` - 1 others were here before. What they wrote is then visible on every device.
__device__ inline bool is_last_block(u32* ticket, u32 blocks) {
  fence_system();  // the block's own is where it belongs before the ticket says so
  if (blocks <= 1) return true;
  if (atomicInc(ticket, blocks - 1) != blocks - 1) return false;  // the last one leaves it at 0 for the next time
  fence_system();
  return true;
}

}  // namespace sordino::cuda
