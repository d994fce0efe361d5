// Kernels of the paper's batches (000, section V-A): products with single blocks, of one size or of sizes in a table.
#pragma once
#include <cuda_runtime_api.h>

#include "sordino/hmatrix/gemv_batches.hpp"

namespace sordino::hmatrix {

/// Thread blocks for each gemv of a batch. Fig. 5 of the paper: as many as its most rows take, so that those of smaller gemvs
/// end at once; or one, which takes all rows.
enum class Subgrid { of_most_rows, one_block };

/// Everything lies on the device.
struct GemvLaunch {
  const Gemv* gemvs;     // the batch's first
  const double* values;  // of the matrix
  double* vectors;       // as GemvBatches places them
  i64 result;            // places from here on are added to atomically, those before it are stored
  i64 count;             // gemvs
  i32 rows, columns;     // the most; of all, where sizes are fixed
  bool fixed;            // sizes are not read from the table
  bool by_columns;       // values lie column by column, as those of U do
  Subgrid subgrid;
};

/// One kernel. Throws `unsupported` for more thread blocks than a launch can have.
void start(const GemvLaunch& launch, cudaStream_t stream);
/// to[k] += from[k].
void start_adding(double* to, const double* from, i64 count, cudaStream_t stream);

}  // namespace sordino::hmatrix
