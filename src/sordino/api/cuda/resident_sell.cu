// Loops in one launch where the matrix is stored as sliced rows.
#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/cuda/resident.cuh"

namespace sordino::cuda {

void enable_resident_sell() { enable_resident_loops<SellRows>(Methods{}); }

}  // namespace sordino::cuda
