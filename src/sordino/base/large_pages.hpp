// Memory for arrays of gigabytes: who touches it first waits for each page of it, so pages are to be few.
#pragma once
#include <cstddef>
#include <memory>

namespace sordino {

struct FreePages {
  void operator()(void* pages) const;
};
using LargePages = std::unique_ptr<void, FreePages>;

/// So many bytes, not written yet; from 2 MiB on in pages of 2 MiB, where the system has them. Throws std::bad_alloc.
LargePages in_large_pages(std::size_t bytes);

}  // namespace sordino
