// Large messages between ranks of a team, on their streams: what the host issues, for those who write no kernel.
#pragma once
#include "sordino/runtime/cuda/team.hpp"

namespace sordino::cuda {

/// From so many bytes on the copy engine is faster than a kernel, whose stores fill a few per cent less of a link, but which
/// needs no signal behind it, for some 7 us. Behind another put the kernel overlaps with that, and the engine pauses for 11 us.
/// Measured on H200 at 16, 64 and 256 MiB; between them straight lines meet here.
constexpr i64 engine_from = 48 << 20, engine_from_behind_put = 72 << 20;

enum class By { automatic, kernel, engine };

/// What was issued last to the rank's stream: `put` says that it was a put().
enum class Behind { anything, put };

/// Loads the kernels of this header on the rank's device; before a barrier of the host threads, and before capturing.
void load_puts(TeamRank& rank);
/// Copies n doubles from own memory into the window of rank `to`, at `there`, then raises my flag there, one epoch on.
/// Asynchronous, and may be captured. The receiver must have said that its memory may be overwritten.
/// Behind another put it need not wait for that one's end: it may arrive earlier, so the two overwrite different memory, but
/// flags are raised in the order of the calls.
void put(TeamRank& rank, const TeamSignals& signals, int to, double* there, const double* from, i64 n, By by = By::automatic,
         Behind behind = Behind::anything);
/// The stream goes on when rank `from` has raised its flag here, one epoch on. Asynchronous, and may be captured.
void await_put(TeamRank& rank, const TeamSignals& signals, int from);

}  // namespace sordino::cuda
