// Large messages between ranks of a team, on their streams: what the host issues, for those who write no kernel.
#pragma once
#include "sordino/runtime/cuda/team.hpp"

namespace sordino::cuda {

/// From so many bytes on the copy engine is faster than a kernel's stores, and leaves the multiprocessors to others.
constexpr i64 engine_from = 16 << 20;

enum class By { automatic, kernel, engine };

/// What was issued last to the rank's stream: `put` says that it was a put that went by a kernel.
enum class Behind { anything, put };

/// Loads the kernels of this header on the rank's device; before a barrier of the host threads, and before capturing.
void load_puts(TeamRank& rank);
/// Copies n doubles from own memory into the window of rank `to`, at `there`, then raises my flag there, one epoch on.
/// Asynchronous, and may be captured. The receiver must have said that its memory may be overwritten.
/// Behind another put by a kernel it need not wait for that one's end: what arrived first is still signalled first.
void put(TeamRank& rank, const TeamSignals& signals, int to, double* there, const double* from, i64 n, By by = By::automatic,
         Behind behind = Behind::anything);
/// The stream goes on when rank `from` has raised its flag here, one epoch on. Asynchronous, and may be captured.
void await_put(TeamRank& rank, const TeamSignals& signals, int from);

}  // namespace sordino::cuda
