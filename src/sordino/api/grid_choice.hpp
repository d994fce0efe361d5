// What of a choice hangs on the grid whose cells the rows are, tiles of block-ilu and levels of mg, or on levels of another
// kind.
#pragma once
#include "sordino/api/part.hpp"

namespace sordino {

/// What can be said before the number of ranks is known. Throws bad_argument with one sentence.
void check_grid(const System& system, const Options& options, const Choice& choice);

/// That cycles of levels that are no grid's are what they can be: in double, smoothed by polynomials. Throws unsupported.
/// `what` they are: "precond amg".
void require_usual_cycle(const Options& options, const std::string& what);

/// Of what rows a level may have at most that lives on one rank; `of_gpus`: of an engine whose commands take long to launch.
i64 level_rows_of(const Options& options, bool of_gpus);

/// Sets the tiling of block-ilu, the layers and levels of mg, or the levels of amg or a hierarchy, and decides between jacobi
/// and mg for precond=auto (levels_choice.hpp). `machine`: a described one, if there is any. Throws as choose_tiling(),
/// GridLevels() and AlgebraicLevels(). `gpus`: CUDA's numbers of those that make levels of a grid's fields, the first one those
/// of amg; {-1}: threads do.
void settle_grid(Choice& choice, const System& system, const Options& options, int ranks, bool device,
                 const std::optional<Machine>& machine, const std::vector<int>& gpus = {-1});

}  // namespace sordino
