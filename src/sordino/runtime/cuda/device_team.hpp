// What a kernel of a team is given: addresses in the windows of all ranks, by value. Plain data; the host's side is team.hpp,
// what kernels do with it is team.cuh.
#pragma once
#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

/// An array that every rank has in its window, at the same place.
template <class T>
struct Symmetric {
  i64 offset = 0, count = 0;
};

/// The head of each window.
struct TeamControl {
  u32 halt = 0;                     // a wait of this rank was lost: every later one is
  u32 patience = 0;                 // units of 1,024 ns that a wait may take; 0: forever
  u32 fault = 0;                    // one of its own waits was the first to be lost here,
  u32 arrived = 0, generation = 0;  // the barrier of a grid
  FaultRecord cause;                //   and this is what it waited for
};

struct DeviceTeam {
  static constexpr int most_ranks = 16;

  TeamControl* control = nullptr;
  Pulse* engine = nullptr;  // host memory, reached by all
  i32 rank = 0, ranks = 1;
  char* window[most_ranks] = {};

  /// Where rank r has the array.
  template <class T>
  SORDINO_HD T* at(i32 r, const Symmetric<T>& array) const {
    return reinterpret_cast<T*>(window[r] + array.offset);
  }
  template <class T>
  SORDINO_HD T* mine(const Symmetric<T>& array) const {
    return at(rank, array);
  }
};

/// Places for `values` doubles from each rank, two epochs deep: what a reduction, or single values, are sent through. One
/// operation at a time uses it.
struct TeamSlots {
  Symmetric<Packet> packets;   // [2][ranks][values], written by the ranks
  Symmetric<Packet> partials;  // [values][most_blocks], one a block of the grid that starts a reduction
  Symmetric<u32> epoch;        // of what was started last; kept by its rank
  i32 values = 0, most_blocks = 0;
  i32 channel = 0;  // its name, for errors
};

/// A flag from each rank to each, which says how often it was raised.
struct TeamSignals {
  Symmetric<u32> flags;   // [ranks] one a line, written by them
  Symmetric<u32> sent;    // [ranks] epochs of the flags that I raised, for kernels that are replayed;
  Symmetric<u32> seen;    // [ranks]   and of those that I waited for
  Symmetric<u32> ticket;  // [ranks] blocks that have put their part for a rank
  i32 channel = 0;
};

}  // namespace sordino::cuda
