#include "sordino/api/callers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/callers.hpp"
#else
namespace sordino::cuda {
class Looker {};
}  // namespace sordino::cuda
#endif

namespace sordino {
namespace {

#if SORDINO_WITH_CUDA
bool is_of_gpu(const void* pointer) { return cuda::place_of(pointer).memory == cuda::Memory::device; }
#endif

[[noreturn]] void refuse_row(const char* what, i64 row) {
  bad_argument(std::string(what) + " holds a NaN or Inf at row " + std::to_string(row));
}

Magnitude measure_on_host(const double* v, i64 n, i64 first, const char* what, int words) {
  Magnitude m;
  for (i64 i = 0; i < n; i++) {
    if (!std::isfinite(v[i])) refuse_row(what, first + i / words);
    m.largest = std::max(m.largest, std::abs(v[i]));
    m.squares += v[i] * v[i];
  }
  return m;
}

}  // namespace

bool on_gpu(const void* pointer, const char* what) {
  if (!pointer) bad_argument(std::string(what) + " is a null pointer");
#if SORDINO_WITH_CUDA
  cuda::Memory memory = cuda::place_of(pointer).memory;
  if (memory == cuda::Memory::managed)
    throw Error(Errc::unsupported, std::string(what) +
                                       " points to managed memory, whose pages move by themselves: pass memory of one GPU "
                                       "(cudaMalloc) or of the host");
  return memory == cuda::Memory::device;
#else
  return false;
#endif
}

void copy_callers(void* to, const void* from, std::size_t bytes, [[maybe_unused]] void* stream) {
  if (bytes == 0) return;
#if SORDINO_WITH_CUDA
  if (is_of_gpu(to) || is_of_gpu(from)) {
    for (const void* p : {static_cast<const void*>(to), from}) cuda::wait_for(p, stream);
    return cuda::copy(to, from, bytes);
  }
#endif
  std::memcpy(to, from, bytes);
}

void wait_for_callers([[maybe_unused]] const void* pointer, [[maybe_unused]] void* stream) {
#if SORDINO_WITH_CUDA
  cuda::wait_for(pointer, stream);
#endif
}

RowsOnHost::RowsOnHost(CsrView& A) {
  if (!A.indptr || !A.indices || !A.values) return;  // of a function: there are none
  indptr_ = std::make_unique<OnHost<i64>>(A.indptr, A.rows() + 1, "indptr");
  A.indptr = indptr_->data();
  indices_ = std::make_unique<OnHost<i32>>(A.indices, A.nnz(), "indices");
  values_ = std::make_unique<OnHost<double>>(A.values, A.nnz() * A.words, "values");
  A.indices = indices_->data();
  A.values = values_->data();
}

Callers::Callers() = default;
Callers::~Callers() = default;

bool Callers::settle(const double* b, const double* x, const double* x0) {
  bool any = on_gpu(b, "the right-hand side");
  any = on_gpu(x, "x") || any;
  any = (x0 && on_gpu(x0, "x0")) || any;
#if SORDINO_WITH_CUDA
  if (any)
    for (const double* v : {b, x, x0 ? x0 : b}) cuda::wait_for(v, stream_);
#endif
  return any;
}

Magnitude Callers::measure(const double* v, i64 n, i64 first, const char* what, int words) {
#if SORDINO_WITH_CUDA
  if (is_of_gpu(v)) {
    if (!looker_) looker_ = std::make_unique<cuda::Looker>();
    cuda::Looker::Seen seen = looker_->look(v, n);
    if (seen.first_bad >= 0) refuse_row(what, first + seen.first_bad / words);
    return {seen.largest, seen.squares};
  }
#endif
  return measure_on_host(v, n, first, what, words);
}

std::vector<double> scaled_on_host(const double* v, i64 n, int exponent) {
  std::vector<double> w(static_cast<std::size_t>(n));
  copy_callers(w.data(), v, w.size() * sizeof(double));
  if (exponent != 0)
    for (double& value : w) value = std::ldexp(value, exponent);
  return w;
}

void scale_back(const std::vector<double>& from, int exponent, double* x) {
  std::vector<double> w = from;
  if (exponent != 0)
    for (double& value : w) value = std::ldexp(value, -exponent);
  copy_callers(x, w.data(), w.size() * sizeof(double));
}

}  // namespace sordino
