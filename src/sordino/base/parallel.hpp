// Loops of a setup over rows, on the threads that the host has: checking, slicing and staging a matrix is memory traffic that
// one thread cannot fill.
#pragma once
#include <functional>

#include "sordino/base/types.hpp"

namespace sordino {

/// Calls body(begin, end) for parts of [first, end) at the same time, and returns when all have ended. What a part throws is
/// thrown, of several the first part's, so that an error is the same on any number of threads. A part has `least` rows or more,
/// so that a short loop stays with the caller's thread: another one takes some 20 us to begin. `threads`: 0 is shared_cores().
void for_parts(i64 first, i64 end, const std::function<void(i64 begin, i64 end)>& body, i64 least = 1 << 15, int threads = 0);

/// Whether all parts say so.
bool all_parts(i64 first, i64 end, const std::function<bool(i64 begin, i64 end)>& body);

/// The sum of what all parts return.
i64 sum_of_parts(i64 first, i64 end, const std::function<i64(i64 begin, i64 end)>& body, i64 least = 1 << 15, int threads = 0);

/// For loops whose parts take times that differ: calls body(begin, end, thread) for [0, some), [some, 2 some), ..., of `count`
/// in all, each as soon as one of the threads is free. They are 0, 1, ..., below thread_count(threads), and 0 is the caller's.
/// What one throws ends the loop, and is thrown.
void deal_out(i64 count, i64 some, int threads, const std::function<void(i64 begin, i64 end, int thread)>& body);

/// How many threads a loop has that may have so many; 0: as many as there are cores. 32 at most.
int thread_count(int threads);
/// The same for each of several loops that run at the same time and share these threads, or cores; 1 at least.
int thread_count_of_each(int threads, int loops);

}  // namespace sordino
