#include "sordino/runtime/engine_memory.hpp"

namespace sordino {

void* EngineMemory::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  pieces_.emplace_back(rank_.engine().allocate_bytes(rank_, bytes), bytes);
  bytes_ += i64(bytes);
  return pieces_.back().first;
}

EngineMemory::~EngineMemory() {
  for (auto [pointer, bytes] : pieces_) rank_.engine().release_bytes(rank_, pointer, bytes);
}

}  // namespace sordino
