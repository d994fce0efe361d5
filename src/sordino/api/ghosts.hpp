// How many rows of others a rank reads, without setting anything up.
#pragma once
#include "sordino/api/part.hpp"

namespace sordino {

/// Columns that a rank's rows touch outside its own. `seen` [n] takes a mark that no other call has.
i64 ghosts_of(const CsrView& A, const Partition& p, int rank, const Diagonals& diagonals, std::vector<i32>& seen, i32 mark);

/// Columns that held rows from `first` to before `last`, all of one rank, touch outside. Cost: O(entries), and memory for those
/// outside, however many rows others have.
i64 ghosts_of(const CsrView& rows, i64 first, i64 last);

/// Of the rank in the middle, which has neighbours on both sides. Cost: O(nnz / ranks), of diagonals O(rows of a rank).
i64 ghosts_inside(const System& system, const Choice& choice, int ranks);

}  // namespace sordino
