// Where a CPU engine keeps a vector: in memory of its own, zeroed, or in the caller's.
#pragma once
#include <memory>

#include "sordino/runtime/rank.hpp"

namespace sordino {

class Storage {
 public:
  Storage() = default;  // none: arithmetic is skipped
  explicit Storage(const VectorInfo& v) : words_(v.callers) {
    if (words_) return;
    own_ = std::make_unique<double[]>(std::size_t(v.length));
    words_ = own_.get();
  }
  double* get() const { return words_; }
  static i64 bytes(const VectorInfo& v) { return v.callers ? 0 : v.length * i64(sizeof(double)); }

 private:
  std::unique_ptr<double[]> own_;
  double* words_ = nullptr;
};

}  // namespace sordino
