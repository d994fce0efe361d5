// What the automatic choices look at.
#pragma once
#include <string>

#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// A, which is real, equals its transpose, entry by entry, to rounding; of a view of some rows: as far as they show. Cost: one
/// binary search an entry.
bool is_symmetric(const CsrView& A);
/// The same of a matrix whose rows are held by ranks, each all of its own. Collective. Entries whose mirror another rank holds
/// are sent there, 24 B each.
bool is_symmetric(Rank& rank, const CsrView& A, const Partition& partition);
/// First row whose diagonal entry is missing or zero; -1 if there is none.
i64 zero_diagonal(const CsrView& A);
/// Of complex entries, their real parts.
bool positive_diagonal(const CsrView& A);

/// auto -> jacobi where the diagonal has no zero, else none. Throws bad_argument if jacobi was asked for and cannot be had.
std::string choose_preconditioner(const CsrView& A, const std::string& asked);

}  // namespace sordino
