// How fields lie in memory: tiles of 32 sites, in which each packet of up to 16 bytes of all sites stands together. A warp of a
// GPU then reads a field coalesced, with the widest loads there are, and a site's data stays within a few pages on a CPU.
#pragma once
#include <cstring>
#include <type_traits>

#include "sordino/lattice/spinor.hpp"

namespace sordino::lattice {

template <class T, int n>
struct alignas(n * 2 * sizeof(T)) Packet {
  Complex<T> z[n];
};

/// A load of what nobody reads again soon: it leaves the caches to what is.
template <class P>
SORDINO_HD P read_once(const P* p) {
#ifdef __CUDA_ARCH__
  using Words = std::conditional_t<sizeof(P) == 16, uint4, uint2>;
  Words w = __ldcs(reinterpret_cast<const Words*>(p));
  P packet;
  memcpy(&packet, &w, sizeof packet);
  return packet;
#else
  return *p;
#endif
}

// The k-th complex number of an object.
template <class T>
SORDINO_HD Complex<T>& entry(Spinor<T>& psi, int k) {
  return psi.s[k / 3].c[k % 3];
}
template <class T>
SORDINO_HD Complex<T>& entry(HalfSpinor<T>& h, int k) {
  return h.s[k / 3].c[k % 3];
}
template <class T>
SORDINO_HD Complex<T>& entry(Su3<T>& U, int k) {
  return U.e[k / 3][k % 3];
}

/// The n-th third of a spinor: whole packets in either precision.
template <class T>
struct SpinorThird {
  static constexpr int each = 16 / sizeof(Complex<T>);
  using Word = Packet<T, each>;

  Word words[4 / each];

  SpinorThird() = default;
  SORDINO_HD SpinorThird(Spinor<T> psi, int n) {
    for (int k = 0; k < 4; k++) words[k / each].z[k % each] = entry(psi, 4 * n + k);
  }
  SORDINO_HD SpinorThird& operator+=(const SpinorThird& o) {
    for (int k = 0; k < 4; k++) words[k / each].z[k % each] = words[k / each].z[k % each] + o.words[k / each].z[k % each];
    return *this;
  }
};
template <class T>
SORDINO_HD Complex<T>& entry(SpinorThird<T>& third, int k) {
  return third.words[k / SpinorThird<T>::each].z[k % SpinorThird<T>::each];
}

/// A field of `complexes` complex numbers at each of `sites` sites: sites * packets packets, the last tile as narrow as it
/// must.
template <class T, int complexes>
struct Tiles {
  static constexpr int each = sizeof(T) == 4 && complexes % 2 == 0 ? 2 : 1;
  static constexpr int packets = complexes / each;
  static constexpr i32 width = 32;
  using Packet = lattice::Packet<T, each>;

  struct Place {
    i64 first;  // packet 0 of the site
    i32 step;   // to its next one
  };
  static SORDINO_HD Place place(i32 site, i32 sites) {
    i32 tile = site / width * width, left = sites - tile;
    return {i64(tile) * packets + (site - tile), left < width ? left : width};
  }
  /// `once`: nobody reads it again soon. `count` packets from the first-th on: all, or a piece of the object.
  template <bool once = false, int count = packets, class Object>
  static SORDINO_HD void load(const Packet* field, i32 site, i32 sites, Object& o, int first = 0) {
    Place at = place(site, sites);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < count; k++) {
      const Packet* from = field + at.first + (first + k) * at.step;
      Packet p = once ? read_once(from) : *from;
      for (int j = 0; j < each; j++) entry(o, k * each + j) = p.z[j];
    }
  }
  /// Visits the packets of a site's object, or of a piece: visit(index in the field, packet).
  template <int count = packets, class Object, class Visit>
  static SORDINO_HD void each_packet(i32 site, i32 sites, Object& o, Visit visit, int first = 0) {
    Place at = place(site, sites);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < count; k++) {
      Packet p;
      for (int j = 0; j < each; j++) p.z[j] = entry(o, k * each + j);
      visit(at.first + (first + k) * at.step, p);
    }
  }
  template <int count = packets, class Object>
  static SORDINO_HD void store(Packet* field, i32 site, i32 sites, Object& o, int first = 0) {
    each_packet<count>(site, sites, o, [&](i64 k, const Packet& p) { field[k] = p; }, first);
  }
};

template <class T>
using SpinorTiles = Tiles<T, 12>;
template <class T>
using HalfSpinorTiles = Tiles<T, 6>;

/// Words of 8 bytes, of which vectors are made, for a spinor and a half spinor.
template <class T>
inline constexpr i32 spinor_words = 24 * sizeof(T) / 8;
template <class T>
inline constexpr i32 half_spinor_words = 12 * sizeof(T) / 8;

}  // namespace sordino::lattice
