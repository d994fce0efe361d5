// Memory of GPUs that callers pass: waiting for who writes it, looking at it, copying it. Knows no CUDA itself.
#pragma once
#include <cstddef>
#include <memory>

#include "sordino/base/types.hpp"
#include "sordino/runtime/cuda/pointers.hpp"

namespace sordino::cuda {

/// For memory of a GPU: returns when what `stream` (a cudaStream_t of any GPU; null: the legacy default stream of the GPU that
/// has the memory) has been given to do is done. For memory of the host at once.
void wait_for(const void* pointer, void* stream);

/// Copies between any two of host and GPUs, whether the GPUs reach each other or not; returns when it is done.
void copy(void* to, const void* from, std::size_t bytes);

/// Looks at vectors where they lie. Streams and places for results are made once for each GPU, and kept.
class Looker {
 public:
  struct Seen {
    double largest = 0;  // |v| of what is finite
    double squares = 0;  // likewise
    i64 first_bad = -1;  // the first NaN or Inf; -1: none
  };

  Looker();
  ~Looker();
  /// v [n], complete, in memory of a GPU: one kernel, one wait; 8 n bytes are read.
  Seen look(const double* v, i64 n);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sordino::cuda
