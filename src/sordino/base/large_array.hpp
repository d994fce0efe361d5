// An array of gigabytes that its threads fill: nobody writes zeros first, and whoever writes a page waits for it, so threads
// share that, too.
#pragma once
#include <span>
#include <type_traits>

#include "sordino/base/large_pages.hpp"

namespace sordino {

/// So many elements, not written yet, in large pages where the system has them. It never grows. One that was moved from may
/// only be assigned to. Throws std::bad_alloc.
template <class T>
class LargeArray {
  static_assert(std::is_trivially_copyable_v<T>, "elements begin without a constructor and end without a destructor");

 public:
  LargeArray() = default;
  explicit LargeArray(std::size_t size)
      : pages_(in_large_pages(size * sizeof(T))), elements_(static_cast<T*>(pages_.get()), size) {}

  std::size_t size() const { return elements_.size(); }
  T* data() { return elements_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  T& operator[](std::size_t k) { return elements_[k]; }
  const T* data() const { return elements_.data(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t k) const { return elements_[k]; }

 private:
  LargePages pages_;
  std::span<T> elements_;
};

}  // namespace sordino
