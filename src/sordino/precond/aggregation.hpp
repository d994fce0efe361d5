// The levels of algebraic multigrid that need no caller's setup, for symmetric matrices with a positive diagonal and any
// pattern: rows are paired by the strength of their couplings, and pairs once more, so that most aggregates have four rows
// (Notay 2010: double pairwise aggregation). P has a 1 for each row of an aggregate, and a coarse matrix is P^T A P / 1.6:
// with constant interpolation smooth errors look stiffer than they are, and without the division iterations nearly double
// (over-correction: Braess 1995; Stueben 2001, section 9.5).
//
// A row is strongly coupled with a neighbour where -a_ij is at least a quarter of the row's largest. Two rows are a pair where
// both are strongly coupled with each other: so where a matrix has phases that differ a millionfold, pairs stay within one of
// them, whatever its shape. A row that is left joins the neighbour that it is strongly coupled with most, and its pair: so a
// row with many small neighbours takes them all at once, and levels end with few rows. A pair counts as its rows do, by the
// largest coupling that one of them has, inside the pair, too: two parts of a phase that are each a pair do not become one
// aggregate.
//
// Rows without couplings, as those of solid cells, are in no aggregate: smoothing solves them. So it does rows whose diagonal
// is more than ten times what their couplings add up to, as those of a phase that a Dirichlet face holds and others hardly
// touch: they are aggregated with their like alone, or not, for beside others they would hold what nothing holds.
#pragma once
#include <functional>
#include <vector>

#include "sordino/linalg/partition.hpp"
#include "sordino/precond/level_maker.hpp"

namespace sordino {

/// A level below the first one.
struct AggregatedLevel {
  MapMatrix P = {};  // [rows of the level above, aggregates]
  CsrMatrix A = {};  // symmetric bit by bit where the matrix above is
};

/// The levels below A, whose rows ranks own as `first` says. Aggregates are of rows of one rank, so that transfers send
/// nothing, but on levels where that would leave more than half of the rows. They are numbered as their first rows are, whose
/// ranks own them: so rows of all levels stay in their order. They depend on the number of ranks, not of threads. Levels end
/// with at most 64 rows, or where the next one would have fewer rows than ranks that own any, or more than four fifths of
/// these. Throws bad_argument with one sentence if more rows are left than can be inverted. Cost: some ten passes over the
/// arrays, of which pairing is sequential within a rank. `gpu`, if there is one, makes the levels below those of `least_on_gpu`
/// rows or more, with the same bits, and threads where it says `unsupported`: below that threads are thought to be sooner.
std::vector<AggregatedLevel> aggregated_levels(const CsrView& A, const Partition& first,
                                               std::unique_ptr<LevelMaker> gpu = nullptr, i64 least_on_gpu = 1 << 13);

/// Throws bad_argument with that sentence, of so many rows of a level that is not coarsened.
void require_few(i64 rows, int ranks);

/// Pairs of pairs of rows, of parts that begin where `cuts` says, numbered as their first rows are. What is strong for a pair
/// must be so for its rows, too: one that is all of its phase is coupled with others weakly, and smoothing on the level of its
/// rows could not tell two of them apart in one aggregate.
/// `told`: of pairs and of aggregates, numbered from 0 in these parts, and -1 where rows are in none of them: where A has rows
/// of others, without entries, whoever has found theirs sets numbers that count all. Else it returns what it gets.
Aggregates fours(const CsrView& A, const std::vector<i64>& cuts, const std::function<Aggregates(Aggregates)>& told);

/// P^T A P / 1.6, R = P^T, as sum_over_aggregates().
CsrMatrix coarse_matrix(const CsrView& A, const MapView& P, const MapView& R);

/// Sets coarse.indices and coarse.values, whose rows begin where coarse.indptr says, to P^T A P / 1.6, for the P of such a
/// level and R = P^T: of A's present values, or later ones with the same pattern. Rows of A that couple with nobody count
/// nothing. An aggregate that nothing holds, a whole part of the domain without Dirichlet faces, has the sum of its rows'
/// diagonals on its own, and so hardly any correction. On several threads, with the same bits on any number.
void sum_over_aggregates(const CsrView& A, const MapView& P, const MapView& R, CsrMatrix& coarse);

}  // namespace sordino
