// The paper's ways to multiply an H-matrix on a GPU (000, Figs 8 and 9), measured: for `sordino bench hmatrix --paper-ways`.
// Knows no CUDA itself.
#pragma once
#include <string>
#include <vector>

#include "sordino/hmatrix/gemv_batches.hpp"

namespace sordino::hmatrix {

/// One line of a table.
struct PaperFigure {
  std::string way = {};  // "variable batch", "variable batch, one block each", "fixed batch" or "cublas"
  GemvOrder order = GemvOrder::stored;
  i64 batch = 0;    // gemvs of a batch; 0: those of a range of rows
  int streams = 1;  // of each GPU
  int gpus = 1;
  i64 launches = 0;          // a product: kernels, or calls of cuBLAS
  i64 samples = 0;           // that the median is of
  double seconds = 0;        // of a product, with x and y on the device: the median; 0: there is none
  double difference = 0;     // from the host's product, relative, in the 2-norm
  i64 bytes = 0;             // of the devices: values, vectors and tables
  std::string remark = {};   // why this machine cannot measure it
  std::string failure = {};  // a wrong result, or what the device said
};

struct PaperPlan {
  int repeats = 3;          // samples of each way, of up to 20 products in a row; fewer if they take more than 3 seconds,
                            // one if a product takes a second
  std::string cublas = {};  // a libcublas.so to load; empty: what the loader finds
  int gpus = 1;             // more than one: then batches of variable sizes on so many, too (paper_devices.hpp)
};

/// Measures all of them on the first GPU, by launches, without a graph, and some on the first few. What a way computes is
/// compared with the host's product before and after, and is wrong if it differs by more than 1e-12 sqrt(n): that, and what
/// fails on the device, is a failure of that way alone. Memory of the device: the matrix once, and once more, filled up, for
/// fixed batches. Throws `unsupported` without so many GPUs.
std::vector<PaperFigure> measure_paper_ways(const HMatrix& matrix, const PaperPlan& plan);

/// One launch by itself (Fig. 8): gemvs [begin, end) of a phase, in the order of their series.
struct PaperBatch {
  GemvOrder order = GemvOrder::stored;
  i64 batch = 0;  // as in GemvOptions; of_one_size: by the kernel of fixed sizes, the others by that of variable ones
  int phase = 0;  // 0: dense blocks and V; 1: U
  i64 begin = 0, end = 0;
  i32 rows_least = 0, rows_most = 0, columns_least = 0, columns_most = 0;
  i64 values = 0;      // of their own; twice as many operations
  double seconds = 0;  // the median of so many samples, each of five launches in a row
};

/// Measures each batch on the first GPU, whose results are not looked at: measure_paper_ways does that. Series: 20,000 gemvs a
/// batch as stored, by rows and by groups; ranges of rows by groups; and all gemvs of each size, which bounds what batches of
/// several can reach. Throws as measure_paper_ways.
std::vector<PaperBatch> measure_paper_batches(const HMatrix& matrix, int repeats);

}  // namespace sordino::hmatrix
