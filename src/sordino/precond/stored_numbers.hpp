// Numbers of a rank that its kernels read by a pointer: filled on the host, and copied to a device where there is one.
#pragma once
#include <algorithm>
#include <memory>

#include "sordino/runtime/rank.hpp"

namespace sordino {

class StoredNumbers {
 public:
  StoredNumbers(Rank& rank, i64 count)
      : rank_(rank),
        count_(std::size_t(count)),
        stored_(static_cast<double*>(rank.engine().allocate_bytes(rank, count_ * sizeof(double)))) {
    if (rank.engine().is_device()) staging_ = std::make_unique<double[]>(count_);
  }
  StoredNumbers(const StoredNumbers&) = delete;
  StoredNumbers& operator=(const StoredNumbers&) = delete;
  ~StoredNumbers() { rank_.engine().release_bytes(rank_, stored_, count_ * sizeof(double)); }

  const double* data() const { return stored_; }
  /// With what `write` makes of zeros: write(numbers).
  template <class Write>
  void fill(const Write& write) {
    if (!rank_.engine().arithmetic() || count_ == 0) return;
    double* const to = staging_ ? staging_.get() : stored_;
    std::fill(to, to + count_, 0.0);
    write(to);
    if (staging_) rank_.engine().upload(rank_, stored_, to, count_ * sizeof(double));
  }

 private:
  Rank& rank_;
  std::size_t count_;
  double* stored_;
  std::unique_ptr<double[]> staging_;
};

}  // namespace sordino
