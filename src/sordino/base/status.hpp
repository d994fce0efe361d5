// How a solve ended. `converged` is only ever said of a recomputed residual (DESIGN, contract 1).
#pragma once
#include <string>

namespace sordino {

enum class Status {
  converged,
  max_iterations,
  time_limit,
  breakdown,
  indefinite,
  stagnated,
  diverged,
  interrupted,
  stopped_by_user,
};

const char* name(Status status);

/// What an exit test says inside a loop; anything but `proceed` ends the loop on all ranks at the same iteration.
/// The numbers travel through device memory, so they are fixed.
enum Verdict : int { proceed = 0, met = 1, broke_down = 2, not_definite = 3, blew_up = 4, asked_to_stop = 5 };

}  // namespace sordino
