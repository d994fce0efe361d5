#include "sordino/hmatrix/cuda/cublas.hpp"

#include <dlfcn.h>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

constexpr int success = 0;                    // cublasStatus_t
constexpr int as_stored = 0, transposed = 1;  // cublasOperation_t

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function) throw Error(Errc::unsupported, std::string("the cuBLAS here has no ") + name);
}

void* load(const std::string& path) {
  if (!path.empty()) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* newer = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
  return newer ? newer : dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

// It stays loaded, as a device may have its kernels.
Cublas::Cublas(const std::string& path) {
  void* library = load(path);
  if (!library) throw Error(Errc::unsupported, std::string("there is no cuBLAS here: ") + dlerror());
  find(library, "cublasCreate_v2", create_);
  find(library, "cublasDestroy_v2", destroy_);
  find(library, "cublasSetStream_v2", set_stream_);
  find(library, "cublasDgemv_v2", dgemv_);
  find(library, "cublasGetStatusString", status_string_);
}

void Cublas::check(const char* name, int status) const {
  if (status != success) throw Error(Errc::device, std::string(name) + " failed: " + status_string_(status));
}

// A handle of its own, since products of one handle on several streams may share what cuBLAS works in.
CublasStream::CublasStream(const Cublas& library, cudaStream_t stream) : library_(library) {
  library_.check("cublasCreate", library_.create_(&handle_));
  const int status = library_.set_stream_(handle_, stream);
  if (status != success) library_.destroy_(handle_);
  library_.check("cublasSetStream", status);
}

CublasStream::~CublasStream() { library_.destroy_(handle_); }

// cuBLAS takes what is stored column by column: rows that follow one another are the columns of the transpose.
void CublasStream::multiply(const double* a, i32 rows, i32 columns, bool by_columns, const double* x, double beta,
                            double* y) const {
  constexpr double one = 1;
  const int m = by_columns ? rows : columns, n = by_columns ? columns : rows;
  library_.check("cublasDgemv",
                 library_.dgemv_(handle_, by_columns ? as_stored : transposed, m, n, &one, a, m, x, 1, &beta, y, 1));
}

}  // namespace sordino::hmatrix
