// Precond amg of rows that processes bring.
#pragma once
#include <functional>

#include "sordino/api/part.hpp"
#include "sordino/comm/accord.hpp"
#include "sordino/runtime/engine.hpp"

namespace sordino {

/// What can be said before the number of ranks is known; in each process the same, but for the diagonal, of which each looks at
/// its own rows. `is_symmetric`: of all rows. Throws bad_argument or unsupported with one sentence.
void require_levels_fit(const CsrView& rows, const Options& options, const Choice& choice, Accord& accord,
                        const std::function<bool()>& is_symmetric);

/// The levels of amg. Collective, and `accord` outlives them. One process, which has all rows, makes what a Solver does
/// (AlgebraicLevels), and several share them (SharedLevels). Throws as these do, in all processes.
std::shared_ptr<MultigridLevels> levels_of_rows(const CsrView& rows, const Options& options, const Partition& partition,
                                                Engine& engine, Accord& accord);

}  // namespace sordino
