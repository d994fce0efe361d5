// Which method solver=auto takes for a symmetric positive definite matrix, and how many steps s=auto has cbcg take at once: the
// one function that setups and estimates of memory ask, once they know the ranks.
#pragma once
#include <functional>
#include <optional>

#include "sordino/api/part.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

/// What a rank has to do with the others, on average.
struct Load {
  double rows = 0;     // of a rank
  double entries = 0;  // of a row, or diagonals
  double ghosts = 0;   // rows of others that a rank reads, and its own that others do
  int ranks = 1;
};

/// Says why the method and s are what they are. The method, where `choice` has left that to the machine: then it has decided
/// all else, with cg as the method, which becomes one of cg, cgcg, gropp, prcg and cbcg. They solve the same systems in about
/// as many iterations. `machine`: whose seconds count, or nothing where nobody has described it.
///
/// In that order each has to be 5 % faster there than what is taken of those before it, gropp and prcg, whose gain is what work
/// hides, 10 %, by a walk of one rank through the method's own recording (seconds_of); cbcg is looked at only where cg waits
/// for sums more than half of its time. It stays cg for rtol below 1e-10, with deterministic 'on', for functions and complex
/// entries, and with a preconditioner whose cost nobody knows.
///
/// s, where it is left to the machine and the method is cbcg, is of 1, 2, 3, 4, 6, 8 and 12 the least whose iterations take at
/// most 2 % longer than the fastest there: basis monomial has 3 at most, and maxiter and what the paper has, 12, bound it, too.
/// That holds for any operator and preconditioner, which each s applies as often. Where nobody has described the machine it is
/// the largest.
///
/// Cost: nothing in these cases; else a solver of some hundred rows for each method and s, a millisecond or so each, and one
/// pass over the entries of one rank. The same in all processes, which hold the same system. Throws bad_argument for a machine
/// of numbers that cannot be meant.
void settle_method(Choice& choice, const System& system, const Options& options, int ranks,
                   const std::optional<Machine>& machine);
/// The same where processes hold rows of the system: `load` counts those of all, and is asked where a machine is to decide, or
/// nowhere.
void settle_method(Choice& choice, const System& system, const Options& options, const std::optional<Machine>& machine,
                   const std::function<Load()>& load);

/// Of one iteration, on a rank like all others.
struct IterationTime {
  double seconds = 0;
  double sums = 0;  // of them: waits for reductions
};

/// What an iteration of the chosen method takes there, the storage being chosen, too: one rank walks through what a solver of a
/// small matrix with as many entries a row has recorded. Launches count, bytes and flops in proportion to the rows, found in
/// the cache as far as those of all rows would be, and of reductions and halos what is left to wait for where they end. All
/// ranks are taken to be alike: nobody waits for a late one.
IterationTime seconds_of(const Choice& choice, const System& system, const Options& options, int ranks, const Machine& machine);

}  // namespace sordino
