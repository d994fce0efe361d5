// Transfers between levels whose interpolation P is a matrix (algebraic_levels.hpp, shared_levels.hpp).
#pragma once
#include <memory>

#include "sordino/linalg/csr_map.hpp"
#include "sordino/precond/multigrid_levels.hpp"

namespace sordino {

/// P and R = P^T between two levels, whose arrays are somebody else's.
struct LevelMaps {
  MapView P, R;
  const Partition &fine, &coarse;
};

/// Collective. Products of their own: what travels lies in two vectors by turns, for who has sent the one knows that the other
/// one has been read.
std::unique_ptr<LevelTransfer> map_transfer(Rank& rank, const LevelMaps& maps, int fine_space, int coarse_space);
i64 map_transfer_bytes(const LevelMaps& maps, int rank, bool device);

/// The same where other ranks than maps.coarse says own the coarse level: those of `owners`, whose space that is. Rows go there
/// and come back (linalg/row_move.hpp), in one message of each rank.
std::unique_ptr<LevelTransfer> moving_transfer(Rank& rank, const LevelMaps& maps, int fine_space, const Partition& owners,
                                               int coarse_space);
i64 moving_transfer_bytes(const LevelMaps& maps, const Partition& owners, int rank, bool device);

}  // namespace sordino
