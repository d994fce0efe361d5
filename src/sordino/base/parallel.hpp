// Loops of a setup over rows, on the threads that the host has: checking, slicing and staging a matrix is memory traffic that
// one thread cannot fill.
#pragma once
#include <functional>

#include "sordino/base/types.hpp"

namespace sordino {

/// Calls body(begin, end) for parts of [first, end) at the same time, and returns when all have ended. What a part throws is
/// thrown, of several the first part's, so that an error is the same on any number of threads. A part has `least` rows or more,
/// so that a short loop stays with the caller's thread: another one takes some 20 us to begin.
void for_parts(i64 first, i64 end, const std::function<void(i64 begin, i64 end)>& body, i64 least = 1 << 15);

/// Whether all parts say so.
bool all_parts(i64 first, i64 end, const std::function<bool(i64 begin, i64 end)>& body);

}  // namespace sordino
