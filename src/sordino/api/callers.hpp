// What callers pass: arrays on the host or, in builds with CUDA, in memory of a GPU.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "sordino/linalg/csr.hpp"

namespace sordino {

namespace cuda {
class Looker;
}

/// Whether it is memory of a GPU, which the host cannot read. Throws bad_argument for a null pointer, and unsupported for
/// memory of cudaMallocManaged, whose pages move by themselves. Builds without CUDA cannot tell, and say no.
bool on_gpu(const void* pointer, const char* what);

/// Copies between the host and GPUs in any combination; returns when it is done. `stream` (a cudaStream_t) is waited for first,
/// on the GPUs that are concerned; null: the legacy default stream.
void copy_callers(void* to, const void* from, std::size_t bytes, void* stream = nullptr);

/// For memory of a GPU: returns when what `stream` has been given to do is done, as in copy_callers(). For the host's at once.
void wait_for_callers(const void* pointer, void* stream = nullptr);

/// An array of a caller's where the host can read it: the caller's own, or a copy of one on a GPU.
template <class T>
class OnHost {
 public:
  OnHost(const T* given, i64 count, const char* what, void* stream = nullptr) : words_(given) {
    if (!on_gpu(given, what)) return;
    copy_.resize(std::size_t(count > 0 ? count : 0));
    copy_callers(copy_.data(), given, copy_.size() * sizeof(T), stream);
    words_ = copy_.data();
  }
  OnHost(const OnHost&) = delete;
  const T* data() const { return words_; }
  const T& operator[](i64 k) const { return words_[k]; }

 private:
  std::vector<T> copy_;
  const T* words_;
};

/// Rows whose arrays the host can read, as long as this lives: arrays on GPUs are copied, 12 bytes an entry and 8 a row.
class RowsOnHost {
 public:
  explicit RowsOnHost(CsrView& A);  // points it to the copies

 private:
  std::unique_ptr<OnHost<i64>> indptr_;
  std::unique_ptr<OnHost<i32>> indices_;
  std::unique_ptr<OnHost<double>> values_;
};

/// What is to be known of a vector before it is solved with.
struct Magnitude {
  double largest = 0;  // |v|
  double squares = 0;  // (v, v); may have overflowed

  /// Right-hand sides beyond these are scaled. BiCGStab compares (rh,r)^2, of residuals 1e-16 times smaller: that must not
  /// underflow.
  static constexpr double smallest_safe = 1e-30, largest_safe = 1e30;
  static bool in_range(double largest) { return largest == 0 || (largest > smallest_safe && largest < largest_safe); }
};

/// The vectors of one solver's callers, and the order of their work on GPUs.
class Callers {
 public:
  Callers();
  ~Callers();

  /// What writes and reads vectors on GPUs is in this stream (a cudaStream_t); null: ordered before the legacy default stream.
  void set_stream(void* stream) { stream_ = stream; }
  void* stream() const { return stream_; }
  /// Returns when the stream's work on b, x and x0 (which may be null) is done. Whether any of them is on a GPU.
  bool settle(const double* b, const double* x, const double* x0);
  /// Of v [n], where it lies: reads it once. Throws bad_argument for a NaN or Inf; rows, of so many words, are counted from
  /// `first`.
  Magnitude measure(const double* v, i64 n, i64 first, const char* what, int words = 1);

 private:
  void* stream_ = nullptr;
  std::unique_ptr<cuda::Looker> looker_;  // made when a vector is on a GPU for the first time
};

/// v [n] times 2^exponent, on the host; exact. What v's stream does is to be done.
std::vector<double> scaled_on_host(const double* v, i64 n, int exponent);
/// The same into a caller's x, and back.
void scale_back(const std::vector<double>& from, int exponent, double* x);

}  // namespace sordino
