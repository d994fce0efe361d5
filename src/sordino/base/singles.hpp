// Numbers of single precision, two in a word of a vector, and of half precision, in which entries of a matrix are stored.
#pragma once
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sordino/base/types.hpp"

namespace sordino {

/// In what a preconditioner's cycles keep matrices and vectors: doubles; both in single precision; or, of the vectors' single
/// precision, matrices in half precision.
enum class CyclePrecision { full, single, half };

/// Two of them, in a word of 8 bytes.
struct alignas(8) Singles {
  float at[2] = {};

  SORDINO_HD friend Singles operator+(Singles a, Singles b) { return {{a.at[0] + b.at[0], a.at[1] + b.at[1]}}; }
  SORDINO_HD friend Singles operator-(Singles a, Singles b) { return {{a.at[0] - b.at[0], a.at[1] - b.at[1]}}; }
  SORDINO_HD friend Singles operator*(Singles a, Singles b) { return {{a.at[0] * b.at[0], a.at[1] * b.at[1]}}; }
  SORDINO_HD friend Singles operator*(double a, Singles b) { return {{float(a) * b.at[0], float(a) * b.at[1]}}; }
};

/// How many numbers a word of a vector of Vs holds, V being double or Singles, and of which type.
template <class V>
inline constexpr int numbers_in = std::is_same_v<V, Singles> ? 2 : 1;
template <class V>
using NumberIn = std::conditional_t<std::is_same_v<V, Singles>, float, double>;

/// A word of what of(row) gives for its rows; 0 for one that is no row any more.
template <class V, class F>
SORDINO_HD V word_of(i32 word, i32 rows, F&& of) {
  if constexpr (numbers_in<V> == 1)
    return of(word);
  else
    return {{float(of(2 * word)), 2 * word + 1 < rows ? float(of(2 * word + 1)) : 0}};
}

/// f(V{}), with Singles or double for V.
template <class F>
decltype(auto) with_numbers(bool single, F&& f) {
  return single ? f(Singles{}) : f(double{});
}

/// A number of IEEE's binary16: 11 bits of up to 65,504.
struct Half {
  std::uint16_t bits = 0;
};
inline constexpr float largest_half = 65504;

SORDINO_HD inline float widened(float a) { return a; }
/// Exactly. Its exponent counts 112 less than a float's, which a product makes good for those below 2^-14, too.
SORDINO_HD inline float widened(Half h) {
  const u32 bits = u32(h.bits & 0x8000) << 16 | u32(h.bits & 0x7fff) << 13;
  float small;
  std::memcpy(&small, &bits, sizeof(small));
  return small * 0x1p112f;
}

/// The nearest one, of two the even one; of larger numbers the largest.
template <class T>
T narrowed(double a) {
  if constexpr (std::is_same_v<T, float>) {
    return float(a);
  } else {
    const float magnitude = std::fmin(std::fabs(float(a)), largest_half);
    const std::uint16_t sign = std::signbit(a) ? 0x8000 : 0;
    if (magnitude < 0x1p-14f) return {std::uint16_t(sign | std::uint16_t(std::nearbyint(magnitude * 0x1p24f)))};
    u32 bits;
    std::memcpy(&bits, &magnitude, sizeof(bits));
    bits += 0xfff + (bits >> 13 & 1);
    return {std::uint16_t(sign | ((bits >> 13) - (112u << 10)))};
  }
}

}  // namespace sordino
