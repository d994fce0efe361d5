// Memory for the numbers of many leaves, which stay where they are written: nothing is copied when a matrix is complete.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/base/large_pages.hpp"
#include "sordino/base/types.hpp"

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
  /// Gives back the memory of chunks in which none of these begins, that were taken here or elsewhere; increasing.
  void keep(const std::vector<const V*>& used) {
    auto is_idle = [&](const Chunk& c) {
      const V* const begin = static_cast<const V*>(c.pages.get());
      const auto first = std::lower_bound(used.begin(), used.end(), begin);
      return first == used.end() || *first >= begin + c.values;
    };
    std::erase_if(chunks_, is_idle);
    left_ = 0;  // of a chunk that may be gone
  }
  i64 bytes() const {
    i64 sum = 0;
    for (const Chunk& c : chunks_) sum += c.values * i64(sizeof(V));
    return sum;
  }

 private:
  struct Chunk {
    LargePages pages;
    i64 values;
  };
  V* more(i64 count) {
    chunks_.push_back({in_large_pages(std::size_t(count) * sizeof(V)), count});
    return static_cast<V*>(chunks_.back().pages.get());
  }

  static constexpr i64 chunk = (i64(1) << 20) / i64(sizeof(V));  // 1 MiB
  std::vector<Chunk> chunks_;
  V* free_ = nullptr;
  i64 left_ = 0;
};

}  // namespace sordino::hmatrix
