// Memory of GPUs for vectors that are about to be made.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino::cuda {

/// Vectors of so many bytes in all are to follow on the rank: they are taken with the first of them, at once. Where drivers map
/// memory for several GPUs, a millisecond may go with each piece, while the others wait. Not of another engine's rank.
void expect_vectors(Rank& rank, i64 bytes);

}  // namespace sordino::cuda
