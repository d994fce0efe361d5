// Rejects a broken recording before it runs, with one sentence: a finish without a start, a scalar read while its reduction is
// open, a halo nobody pushes, ghosts that may be overwritten before a neighbour has read them.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Unrolls the recording over two periods of its rotation, with and without its predicated commands. Throws bad_argument.
/// Cost: a few hundred nanoseconds a command; runs once per compilation. Returns what the next recordings must know.
Settling check(const Rank& rank, const Recording& recording);

}  // namespace sordino
