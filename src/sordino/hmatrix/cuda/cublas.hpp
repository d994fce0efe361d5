// cuBLAS, where this machine has it: loaded at run time, with our own words for its functions, so that nothing of it is needed
// to build. One product with a matrix is all that is asked of it.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

/// Its functions. What fails throws Error with one sentence.
class Cublas {
 public:
  /// Loads `path`, or what the loader finds as libcublas.so.13 or libcublas.so.12. Throws `unsupported` if there is none.
  explicit Cublas(const std::string& path);

 private:
  friend class CublasStream;
  void check(const char* name, int status) const;

  int (*create_)(void**) = nullptr;
  int (*destroy_)(void*) = nullptr;
  int (*set_stream_)(void*, cudaStream_t) = nullptr;
  int (*dgemv_)(void*, int, int, int, const double*, const double*, int, const double*, int, const double*, double*,
                int) = nullptr;
  const char* (*status_string_)(int) = nullptr;
};

/// Products on one stream of the current device.
class CublasStream {
 public:
  /// `library` must outlive it.
  CublasStream(const Cublas& library, cudaStream_t stream);
  ~CublasStream();
  CublasStream(const CublasStream&) = delete;

  /// y = A x + beta y, of A [rows][columns], stored row by row or column by column. Asynchronous.
  void multiply(const double* a, i32 rows, i32 columns, bool by_columns, const double* x, double beta, double* y) const;

 private:
  const Cublas& library_;
  void* handle_ = nullptr;
};

}  // namespace sordino::hmatrix
