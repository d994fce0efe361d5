// BiCGStab of several columns at once, A x_c = b_c: one body, two products with A that take all of them, one reduction where a
// single system has one, of as many times the sums, and scalars of each column. What a solve replays (columns_driver.hpp).
//
// Per iteration: 2 operators of C vectors, 2 halos, 3 reductions of C, 2 C and 2 C values, all exposed: 16 values where C is 8,
// as many as a reduction takes. Vector traffic beyond the operators 21 C n + 2 n words, workspace 8 C n. Dot products are
// commands of their own, since a product of several vectors takes none; two commands without vectors judge the columns.
#pragma once
#include <vector>

#include "sordino/solvers/method.hpp"

namespace sordino::columns {

/// Handles, one for each column, and recordings; made by record_bicgstab.
struct Columns {
  int count = 0;  // C: 2, 4 or 8
  Vec b, x, best, log;
  int rounds = 0;  // that the log has room for
  Scal round;      // and how many it has
  std::vector<Scal> bb, true_rr, target, bound, best_rr, ended, chosen;
  Recorded norms;     // bb, of those under way
  Recorded residual;  // true_rr, and A x, where `begin` finds it
  Recorded keep;      // best = x, of the chosen
  Recorded swap;      // x and best trade places, of the chosen
  Way way;            // begin and iterate; ends when all have
};

/// `A`: a product of 2, 4 or 8 vectors at once, interleaved, on a space with Space::numbers. `d`: the diagonal of M^-1, on the
/// space of the numbers, or unset.
Columns record_bicgstab(Rank& rank, const Operator& A, Scaling d, int check_every);

}  // namespace sordino::columns
