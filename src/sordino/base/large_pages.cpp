#include "sordino/base/large_pages.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "sordino/base/large_vector.hpp"

namespace sordino {
namespace {

constexpr std::size_t page = std::size_t(2) << 20;
constexpr std::size_t alignment = 64;

}  // namespace

void FreePages::operator()(void* pages) const { std::free(pages); }

LargePages in_large_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= page ? page : alignment;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* pages = std::aligned_alloc(unit, rounded == 0 ? unit : rounded);
  if (!pages) throw std::bad_alloc();
  if (unit == page) wish_for_large_pages(pages, rounded);
  return LargePages(pages);
}

void wish_for_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), first = (begin + page - 1) / page * page,
             end = (begin + bytes) / page * page;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // else pages are small
#endif
}

}  // namespace sordino
