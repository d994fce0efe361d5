// Nullspaces of singular systems: checked and orthonormalised before a solver is set up.
#pragma once
#include "sordino/api/system.hpp"
#include "sordino/comm/accord.hpp"

namespace sordino {

/// What the caller says that A, and its transpose, map to zero, as orthonormal columns; the option's word where that says it.
/// Of a complex A the vectors given are real, of n rows, or complex, of 2 n words, the transpose is the conjugate one, and
/// columns are those of a word_basis().
/// Throws bad_argument with one sentence for vectors that depend on each other, hold NaN or Inf, or are not mapped to zero.
/// Cost: two passes over the entries a vector, on this thread; of a function k + 1 calls.
Nullspace checked_nullspace(const System& system, const Options& options);
/// The same of consecutive rows, one process's part of a real matrix, and of vectors. Collective. Cost, besides: of vectors
/// that are given the layout of the rows for an engine of its own, while it lasts, a product each, and sums over processes.
Nullspace checked_nullspace(const CsrView& rows, const Nullspace& given, const Options& options, Accord& accord);

/// Throws bad_argument if A with these values, or its transpose, does not map to zero what it is to map there.
void require_mapped_to_zero(const CsrView& A, const Nullspace& nullspace);
/// The same of constants alone, by the largest magnitude of what a row adds up to, and of its entries' added up.
void require_constant_mapped(double sum, double magnitudes);
/// The same of one process's rows, by the checked_nullspace() of others. Collective.
void require_mapped_to_zero(const CsrView& rows, const Nullspace& nullspace, const Options& options, Accord& accord);

/// The norm of b without what lies along the nullspace of the transpose, if there is one; near enough for progress.
double reachable_norm(const double* b, i64 n, double norm, const Basis& outside);

}  // namespace sordino
