// Values that stand for a factor's where its structure is real and only time matters.
#pragma once
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// Value k of all that are stored, small enough that sums stay finite along any path.
template <class V>
SORDINO_HD V invented(i64 k) {
  const u64 bits = (u64(k) + 1) * 0x9e3779b97f4a7c15u;
  return V(0.02 * (double((bits >> 40) & 0xffff) / 65536 - 0.5));
}
template <>
SORDINO_HD inline Number invented(i64 k) {
  return {invented<double>(k), invented<double>(~k)};
}

}  // namespace sordino::trsv
