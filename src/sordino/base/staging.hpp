// Arrays that come from a device through a few pinned buffers: the device fills one while threads empty others.
#pragma once
#include <functional>

#include "sordino/base/types.hpp"

namespace sordino {

/// What comes in pieces, of which piece k passes through buffer k % buffers.
struct Staged {
  i64 pieces = 0, buffers = 1;
  /// Begins to bring a piece to its buffer, which is empty. On the caller's thread, in their order.
  std::function<void(i64 piece)> begin;
  /// Waits until it is there; false ends all. On the caller's thread, in their order.
  std::function<bool(i64 piece)> wait;
  /// Empties its buffer. On any thread, of several pieces at the same time.
  std::function<void(i64 piece)> empty;
};

/// Brings all pieces, as many at a time as there are buffers. So many threads, one of them the caller's, empty buffers as they
/// are filled; the caller's does so when others do not keep up. False: `wait` has ended it, and some pieces may be on their
/// way. What one of them throws is thrown, when no thread is at work any more.
bool bring(const Staged& staged, int threads);

}  // namespace sordino
