// A std::vector of gigabytes: its zeros are written by one thread, which waits for each page, so pages are to be few.
#pragma once
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

/// Tells the system that memory which nobody has written yet may lie in pages of 2 MiB. A wish, of what lies wholly inside.
void wish_for_large_pages(void* memory, std::size_t bytes);

/// So many zeros, from some MiB on in large pages where the system has them. Where nobody needs a vector, and threads fill it,
/// a LargeArray is faster still.
template <class T>
std::vector<T> large_vector(std::size_t size) {
  std::vector<T> zeros;
  zeros.reserve(size);
  wish_for_large_pages(zeros.data(), size * sizeof(T));
  zeros.resize(size);
  return zeros;
}

}  // namespace sordino
