// How values of a type are folded: on the host, for operations that see bytes, and in commands.
#pragma once
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sordino/runtime/scalar.hpp"

namespace sordino {

template <class T>
concept Foldable = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// What whole numbers are added and multiplied as, so that what overflows is well defined: it wraps around in T, as with MPI
/// on every machine there is. At least as wide as unsigned: of narrower types the product could overflow an int.
template <class T>
using Wrapping = std::make_unsigned_t<std::common_type_t<T, unsigned>>;

template <Foldable T>
SORDINO_HD T sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return T(Wrapping<T>(a) + Wrapping<T>(b));
}

template <Foldable T>
SORDINO_HD T product(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return T(Wrapping<T>(a) * Wrapping<T>(b));
}

/// The lesser one, or with `greater` the other: as minimum and maximum of IEEE 754-2019. With a NaN it is a NaN, always the
/// same one; -0 is less than 0. So the order does not matter, and every algorithm gives the same bits.
template <Foldable T>
SORDINO_HD T extreme(T a, T b, bool greater) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) != greater ? a : b;
  }
  return (b < a) == greater ? a : b;
}

template <Foldable T>
SORDINO_HD T folded(Fold fold, T a, T b) {
  switch (fold) {
    case Fold::product: return product(a, b);
    case Fold::min: return extreme(a, b, false);
    case Fold::max: return extreme(a, b, true);
    default: return sum(a, b);
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
