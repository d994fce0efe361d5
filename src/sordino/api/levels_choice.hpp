// What precond=auto takes of a matrix of a grid that is given: jacobi, or mg where one solve with it, setup included, is
// foretold to take less time.
//
// cg with Jacobi is foretold to take 0.3 sqrt(2 / R) ln(2 / rtol) iterations. R is the least of (v, A v) / (v, D v) for the
// diagonal D of A and eight vectors v, products of a line's first sine or of 1 in each direction, but for those that A maps to
// zero, and no less than the least eigenvalue of D^-1 A, whose largest is 2 at most where no row's couplings outweigh its
// diagonal: so sqrt(2 / R) / 2 ln(2 / rtol) is about what the bound of conjugate gradients says (Saad, Iterative Methods for
// Sparse Linear Systems, 2003, equation 6.128), and boxes take six tenths of it. Phases that meet in many places take more. An
// iteration of mg takes as long as five and a half of Jacobi's, it takes twelve to 1e-8, and its setup as long as thirty: that
// is what the foretold number has to exceed. Where a third of the rows is coupled a hundredfold on one side of a direction, as
// of cells that have a density each, pairs mix phases everywhere, and three times as many cycles count. On GPUs setup is the
// host's, and takes as long as hundreds to thousands of iterations there: one solve with jacobi is faster, but of a grid's
// fields (grid_system.hpp). On the model engine's machines nobody knows what setup takes.
#pragma once
#include <functional>
#include <vector>

#include "sordino/api/part.hpp"

namespace sordino {

struct Foretold {
  double jacobi = 0;  // iterations of cg with Jacobi
  double mg = 0;      // so many of them last as long as a solve with mg, setup included
};

/// Cost: one pass over the entries, on several threads; the same bits on any number of them.
Foretold foretold_of(const CsrView& A, const Extents& grid, double rtol);

/// The layers and levels of mg, those of at most `alone` rows on one rank. Throws bad_argument as grid_layers() and
/// GridLevels(). `gpus`: CUDA's numbers of those that make levels of a grid's fields (GridSlabs); {-1}: threads do.
void set_levels(Choice& choice, const System& system, const Options& options, int ranks, i64 alone,
                const std::vector<int>& gpus = {-1});
/// The levels of a system that is given by fields, for new ones of the same cells, once the stream has written them; null: the
/// legacy default stream. Throws as set_levels(), and then leaves all as it was.
void update_levels(Choice& choice, const System& system, const GridMatrix& fields, const std::vector<int>& gpus,
                   void* stream = nullptr);

/// Whether precond=auto may take mg: the grid of a real matrix is given, cg is taken or asked for, ranks own layers, and, asked
/// last, `is_symmetric`. Says why not in choice.why_preconditioner, and there, too, that a preconditioner was asked for.
bool may_take_levels(const System& system, const Options& options, Choice& choice, const std::function<bool()>& is_symmetric);

/// Decides between jacobi and mg, where both may be taken, and sets the levels of mg. Where ranks have no layers to pair, or
/// entries are not of neighbours, it is jacobi, and the reason what GridLevels() says.
void settle_levels(Choice& choice, const System& system, const Options& options, int ranks, bool device, i64 alone);

}  // namespace sordino
