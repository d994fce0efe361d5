// Links as commands read them: 18 reals each, or 12, from which the third row follows.
#pragma once
#include "sordino/lattice/layout.hpp"

namespace sordino::lattice {

/// [parity][mu], each a field over the sites of that parity.
template <class T, int reals>
struct LinkView {
  static_assert(reals == 18 || reals == 12);
  using Real = T;
  using Layout = Tiles<T, reals / 2>;
  static constexpr double bytes = reals * sizeof(T);

  const typename Layout::Packet* packets = nullptr;
  T last_sign = 1;  // of links in t from the box's last time slice; where a link has 18 reals it is in them already

  /// U_mu at site i of a parity; `last`: a link in t from the last time slice.
  SORDINO_HD Su3<T> load(int parity, int mu, i32 i, i32 half, bool last) const {
    Su3<T> U;
    Layout::template load<true>(packets + i64(parity * 4 + mu) * half * Layout::packets, i, half, U);
    if constexpr (reals == 12) complete_rows(U, last ? last_sign : T(1));
    return U;
  }
};

}  // namespace sordino::lattice
