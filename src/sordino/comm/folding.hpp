// How values of a type are folded, for operations that see bytes.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "sordino/runtime/scalar.hpp"

namespace sordino {

template <class T>
concept Foldable = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// Of small integers too: sums wrap around in T.
template <Foldable T>
T folded(Fold fold, T a, T b) {
  switch (fold) {
    case Fold::product: return T(a * b);
    case Fold::min: return a != a || a < b ? a : b;  // a NaN stays
    case Fold::max: return a != a || b < a ? a : b;
    default: return T(a + b);
  }
}

template <Foldable T>
void combine(Fold fold, std::byte* into, const std::byte* from, std::size_t count) {
  for (std::size_t k = 0; k < count; k++) {
    T a, b;
    std::memcpy(&a, into + k * sizeof(T), sizeof(T));
    std::memcpy(&b, from + k * sizeof(T), sizeof(T));
    a = folded(fold, a, b);
    std::memcpy(into + k * sizeof(T), &a, sizeof(T));
  }
}

}  // namespace sordino
