// Memory for the numbers of many leaves, which stay where they are written: nothing is copied when a matrix is complete.
#pragma once
#include <vector>

#include "sordino/base/large_pages.hpp"

namespace sordino::hmatrix {

template <class V>
class ValueStore {
 public:
  V* take(i64 count) {
    if (count >= chunk / 16) return more(count);  // a chunk of its own: of a common one at most a sixteenth is lost
    if (count > left_) {
      free_ = more(chunk);
      left_ = chunk;
    }
    V* taken = free_;
    free_ += count;
    left_ -= count;
    return taken;
  }

 private:
  V* more(i64 count) {
    chunks_.push_back(in_large_pages(std::size_t(count) * sizeof(V)));
    return static_cast<V*>(chunks_.back().get());
  }

  static constexpr i64 chunk = (i64(1) << 20) / i64(sizeof(V));  // 1 MiB
  std::vector<LargePages> chunks_;
  V* free_ = nullptr;
  i64 left_ = 0;
};

}  // namespace sordino::hmatrix
