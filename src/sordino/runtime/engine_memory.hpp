// Arrays where an engine computes: tables of an operator or a method, which its commands read.
#pragma once
#include <utility>
#include <vector>

#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Memory of an engine, given back even if a constructor ends early.
class EngineMemory {
 public:
  explicit EngineMemory(Rank& rank) : rank_(rank) {}
  EngineMemory(const EngineMemory&) = delete;
  ~EngineMemory();
  template <class T>
  T* reserve(i64 count) {
    return static_cast<T*>(take(std::size_t(count) * sizeof(T)));
  }
  template <class T>
  const T* uploaded(const std::vector<T>& from) {
    T* to = reserve<T>(i64(from.size()));
    if (!from.empty()) rank_.engine().upload(rank_, to, from.data(), from.size() * sizeof(T));
    return to;
  }
  i64 bytes() const { return bytes_; }

 private:
  void* take(std::size_t bytes);
  Rank& rank_;
  std::vector<std::pair<void*, std::size_t>> pieces_;
  i64 bytes_ = 0;
};

}  // namespace sordino
