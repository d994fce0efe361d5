// Paper 004's Algorithm 1, as corrected, on a described machine: ranks with memory of their own, thread blocks, messages that
// take their time, and a virtual clock. With a seed, delays and orders are adversarial. Whoever waits for what never comes is
// found at once.
#pragma once
#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/paper_rank.hpp"

namespace sordino::trsv::paper {

struct ClockOptions {
  int workers = 640;             // of a rank: thread blocks of SOLVE that are resident; others begin in the columns' order
  double step_seconds = 0.5e-6;  // that a triangle, a block or a message takes beside its bytes
  double lone_bandwidth = 32e9;  // B/s of a thread block that has the memory to itself
  u64 seed = 0;                  // else each step and message takes up to ten times as long, and WAIT takes any that has come
};

struct ClockReport {
  double seconds = 0;
  i64 messages = 0, message_bytes = 0;
  double waiting = 0;  // of all thread blocks of SOLVE, from their begin to that of their work
};

/// What WAIT does with a sum that has come into a slot. Tests put the printed listing in the place of Rank::receive_sum.
template <class V>
using ReceiveSum = std::function<void(Rank<V>& rank, i32 slot, const Post<V>& post)>;

/// L x = b; b and x [n]. A rank sees what it has computed and what was sent to it, and NaN else. Throws Error where the solve
/// hangs. Cost: the solve, and for each step the block columns that wait on its rank.
template <class V>
ClockReport clock_solve(const Factor<V>& factor, const Layout& layout, const Machine& machine, const ClockOptions& options,
                        const V* b, V* x, const ReceiveSum<V>& receive = {});

}  // namespace sordino::trsv::paper
