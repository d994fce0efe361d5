// What paper 004's Algorithm 1 takes on GPUs, step by step: when each thread block of SOLVE has a place, its sums or its x, and
// its rows. Where Algorithm 2 (paper_model.hpp) adds up all messages of a GPU, here only those count that somebody waits for.
//
// Whatever block column K waits for comes from block columns before K, or from another rank's K. So one walk in the columns'
// order finds all times, and needs no events.
#pragma once
#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/paper_layout.hpp"

namespace sordino::trsv::paper {

/// What SOLVE and WAIT of trsv/cuda/paper_kernels.cu take on a GPU. Seconds are a fit to four factors on one H200
/// (docs/theory/004.md, "Its times, step by step").
struct StepTimes {
  int threads = 256;        // of a thread block of SOLVE: rows that it multiplies at a time, or parts of fewer
  int wait_threads = 1024;  // of WAIT, among which the sums that a rank awaits are dealt out
  int loads = 8;            // of a thread that are on their way together
  double load_s = 1.4e-6;   // that they take
  double take_s = 2e-6;     // until a thread block has a place, its ticket, and what there is to know of its block column
  double step_s = 1e-6;     // of a product beside its loads: barriers, shuffles, what is added to sums
  double count_s = 1e-6;    // until others of the device see that a sum is there: a fence, a counter, and a look at it
};

struct StepPrediction {
  double seconds = 0;
  double waiting = 0;  // of all thread blocks of SOLVE, from when they have their block column on
};

/// L x = b with one right-hand side, of values of so many bytes; of L^T with the transposed pattern. Workers, five where our
/// own kernel has four, the bandwidth, and messages are the machine's of triangular solves. Cost: blocks, and ranks times block
/// columns, each with the slices of time, of 2 us and more, in which it reads its rows. Memory: block columns for each rank,
/// and such slices, up to some 1e5.
StepPrediction predict_steps(const Pattern& pattern, const Layout& layout, const Machine& machine, i64 value_bytes,
                             const StepTimes& times = {});

}  // namespace sordino::trsv::paper
