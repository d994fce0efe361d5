// What a reduction of host data is about, for code that sees bytes only.
#pragma once
#include <type_traits>

#include "sordino/base/types.hpp"

namespace sordino {

/// How two values become one. Sums and products of whole numbers wrap around. min and max are NaN where any value is, and take
/// -0 for less than 0.
enum class Fold : std::uint8_t { sum, product, min, max };

/// A type of values, as two ranks may compare it.
struct Scalar {
  char kind = 'b';  // i, u, f: signed, unsigned, floating point; b: bytes without a meaning here
  i32 bytes = 1;
  bool operator==(const Scalar&) const = default;
};

template <class T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_floating_point_v<T>) return {'f', sizeof(T)};
  if constexpr (std::is_integral_v<T>) return {std::is_signed_v<T> ? 'i' : 'u', sizeof(T)};
  return {'b', sizeof(T)};
}

}  // namespace sordino
