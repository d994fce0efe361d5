#include "sordino/base/large_pages.hpp"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace sordino {
namespace {

constexpr std::size_t page = std::size_t(2) << 20;
constexpr std::size_t alignment = 64;

}  // namespace

void FreePages::operator()(void* pages) const { std::free(pages); }

LargePages in_large_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= 2 * page ? page : alignment;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* pages = std::aligned_alloc(unit, rounded == 0 ? unit : rounded);
  if (!pages) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == page) madvise(pages, rounded, MADV_HUGEPAGE);  // a wish: where it is not granted, pages are small
#endif
  return LargePages(pages);
}

}  // namespace sordino
