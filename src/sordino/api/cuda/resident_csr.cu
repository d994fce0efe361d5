// Loops in one launch where the matrix is stored as compressed rows, four threads a row.
#include "sordino/api/cuda/engines.hpp"
#include "sordino/api/cuda/resident.cuh"

namespace sordino::cuda {

void enable_resident_csr() { enable_resident_loops<CsrRows<4>>(Methods{}); }

}  // namespace sordino::cuda
