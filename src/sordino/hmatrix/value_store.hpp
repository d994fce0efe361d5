// Memory for the numbers of many leaves, which stay where they are written: nothing is copied when a matrix is complete.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::hmatrix {

class ValueStore {
 public:
  double* take(i64 count) {
    if (count > left_) {
      const i64 fresh = std::max(count, chunk);
      chunks_.push_back(std::make_unique_for_overwrite<double[]>(std::size_t(fresh)));
      reserved_ += fresh;
      // A large leaf has a chunk of its own, and the one begun before goes on.
      if (count >= chunk) return chunks_.back().get();
      free_ = chunks_.back().get();
      left_ = fresh;
    }
    double* taken = free_;
    free_ += count;
    left_ -= count;
    return taken;
  }
  i64 reserved() const { return reserved_; }

 private:
  static constexpr i64 chunk = i64(1) << 17;  // 1 MiB
  std::vector<std::unique_ptr<double[]>> chunks_;
  double* free_ = nullptr;
  i64 left_ = 0, reserved_ = 0;
};

}  // namespace sordino::hmatrix
