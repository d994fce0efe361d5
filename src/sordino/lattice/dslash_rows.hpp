// The Wilson dslash, row by row, for CPUs and GPUs: one command, y = z + scale D x, with a row for each half spinor that other
// ranks need, which is sent, and then one for each site: interior ones first, and those on cut faces when the neighbours' half
// spinors are there.
//
// A face behind (x[mu] = 0) sends the upper half of (1 - gamma_mu) psi, which its receiver multiplies by its own link; a face
// ahead sends U_mu^dagger times that of (1 + gamma_mu) psi, since the link is the sender's.
//
// Together they take 1,320 flops a site: 8 x 12 to project, 8 x 132 for links, 7 x 24 to add up (the count of QUDA and others).
#pragma once
#include "sordino/lattice/checkerboard.hpp"
#include "sordino/lattice/link_view.hpp"
#include "sordino/runtime/applied.hpp"

namespace sordino::lattice {

constexpr double flops_per_site = 1320;

/// What rows know of a rank's box. A field over both parities holds the even sites, then the odd ones.
struct CutBox {
  Checkerboard sites;
  int parities = 2;  // of the fields: 2, or 1
  int target = 0;    // with one: the parity of y; x has the other one
  bool cut[4] = {};
  i32 face[4] = {};    // sites of one parity on a face
  i32 first[8] = {};   // where faces 2 mu (behind) and 2 mu + 1 (ahead) begin in the vector of faces, in half spinors
  i32 face_sites = 0;  // half spinors sent; as many received ones follow

  SORDINO_HD i32 field_sites() const { return parities * sites.half; }
  /// Where a parity's sites begin in a field, or in a face's part of the vector of faces, that has `count` sites of each.
  SORDINO_HD i32 block(int parity, i32 count) const { return parities == 2 ? parity * count : 0; }
};

template <class Links>
struct Hop {
  using T = typename Links::Real;
  using Spinors = SpinorTiles<T>;
  using Halves = HalfSpinorTiles<T>;
  using HalfPacket = typename Halves::Packet;
  using Read = Foreign<const typename Spinors::Packet, Access::read>;
  static constexpr const char* name = "Dslash";
  static constexpr int resident_blocks = sizeof(T) == 4 ? 2 : 1;  // in double precision a site takes more than 128 registers

  CutBox box;
  Links links;
  T scale;
  Read x;
  Sent<HalfPacket> sent;                               // own faces, and
  Foreign<const HalfPacket, Access::arrived> arrived;  //   the neighbours': unset where nothing is cut
  Read z;                                              // unset: y = scale D x
  Foreign<typename Spinors::Packet, Access::write> y;
  // What a solver has pushed, though nothing of it travels: that push ends here. Not read.
  Foreign<const typename Spinors::Packet, Access::ghost> pushed;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(sent);
    visit(arrived);
    visit(z);
    visit(y);
    visit(pushed);
  }

  /// Projects what a site on a face sends. Row j of those that come before the sites.
  SORDINO_HD void send(i32 j) const {
    int face = 0;  // the last one that begins at j or before; faces that are not cut have no sites
    i32 first = 0;
#ifdef __CUDA_ARCH__
#pragma unroll  // an index that is known keeps `box` in registers
#endif
    for (int k = 1; k < 8; k++)
      if (j >= box.first[k]) face = k, first = box.first[k];
    switch (face / 2) {
      case 0: return send_site<0>(face & 1, first, j - first);
      case 1: return send_site<1>(face & 1, first, j - first);
      case 2: return send_site<2>(face & 1, first, j - first);
      default: return send_site<3>(face & 1, first, j - first);
    }
  }

  struct Site {
    int parity;
    i32 i, at[4];
    i64 block;  // first packet of its parity in a field
  };
  SORDINO_HD Site site(i32 n) const {
    Site s;
    bool odd = n >= box.sites.half;
    s.parity = box.parities == 2 ? int(odd) : box.target;
    s.i = odd ? n - box.sites.half : n;
    s.block = i64(box.block(s.parity, box.sites.half)) * Spinors::packets;
    box.sites.coordinates(s.parity, s.i, s.at);
    return s;
  }
  /// What a field has at a site: the spinor, or its nth third.
  template <class Piece = Spinor<T>>
  SORDINO_HD Piece load(const typename Spinors::Packet* field, const Site& s, int nth = 0) const {
    constexpr int count = packets_of<Piece>;
    Piece piece;
    Spinors::template load<false, count>(field + s.block, s.i, box.sites.half, piece, nth * count);
    return piece;
  }

  /// Computes y at a site, and stores it.
  SORDINO_HD Spinor<T> compute(const Site& s) const {
    Spinor<T> sum;
    add_dimension<0>(s, sum);
    add_dimension<1>(s, sum);
    add_dimension<2>(s, sum);
    add_dimension<3>(s, sum);
    return store(s, sum);
  }
  /// y at a site, or its nth third, from that of the sum over the site's neighbours.
  template <class Piece>
  SORDINO_HD Piece store(const Site& s, Piece sum, int nth = 0) const {
    constexpr int count = packets_of<Piece>;
    Piece own;
    if (z.p) own = load<Piece>(z.p, s, nth);
    for (int k = 0; k < count * Spinors::each; k++) entry(sum, k) = entry(own, k) + entry(sum, k) * scale;
    Spinors::template store<count>(y.p + s.block, s.i, box.sites.half, sum, nth * count);
    return sum;
  }
  SORDINO_HD void row(i32 row) const {
    if (row < box.face_sites)
      send(row);
    else
      compute(site(row - box.face_sites));
  }

  /// What the neighbours of a site in dimension mu add. A row that sends is the first one's.
  SORDINO_HD Spinor<T> part(i32 row, int mu) const {
    Spinor<T> sum;
    if (row < box.face_sites) {
      if (mu == 0) send(row);
      return sum;
    }
    Site s = site(row - box.face_sites);
    switch (mu) {
      case 0: add_dimension<0>(s, sum); break;
      case 1: add_dimension<1>(s, sum); break;
      case 2: add_dimension<2>(s, sum); break;
      default: add_dimension<3>(s, sum);
    }
    return sum;
  }
  /// The nth third of y, from that of the sum of all parts.
  SORDINO_HD void finish(i32 row, int nth, const SpinorThird<T>& sum) const {
    if (row >= box.face_sites) store(site(row - box.face_sites), sum, nth);
  }

  /// Of the rows that send.
  Cost sending_cost() const {
    double n = box.face_sites, links_read = n / 2;
    return {n * (24 + 12) * sizeof(T) + links_read * Links::bytes, n * 12 + links_read * 132};
  }
  // Each array once: for a parity of y, the spinors of the other one and the links of both are read.
  Cost cost() const {
    double n = box.field_sites(), received = box.face_sites, fields = z.id < 0 || z.id == x.id ? 2 : 3;
    Cost ahead = sending_cost();
    return {ahead.bytes + n * (fields * 24 * sizeof(T) + 8 * Links::bytes) + received * (12 * sizeof(T) - Links::bytes / 2),
            ahead.flops + n * (flops_per_site + (z.id < 0 ? 24 : 48)) - received * (12 + 132 / 2)};
  }

 private:
  template <class Piece>
  static constexpr int packets_of = int(sizeof(Piece) / sizeof(typename Spinors::Packet));

  template <int mu>
  SORDINO_HD void send_site(bool ahead, i32 first, i32 n) const {
    const i32 half = box.sites.half, count = box.face[mu];
    bool odd = n >= count;
    int parity = box.parities == 2 ? int(odd) : 1 - box.target;
    if (odd) n -= count;
    i32 at[4];
    box.sites.face_coordinates<mu>(ahead ? box.sites.extent[mu] - 1 : 0, parity, n, at);
    i32 i = box.sites.number(at);
    auto psi = spinor(x.p + i64(box.block(parity, half)) * Spinors::packets, i);
    auto h = ahead ? adjoint_times(links.load(parity, mu, i, half, mu == 3), project<mu, 1>(psi)) : project<mu, -1>(psi);
    i64 base = i64(first + box.block(parity, count)) * Halves::packets;
    Halves::each_packet(n, count, h, [&](i64 k, const HalfPacket& packet) { sent.store(base + k, packet); });
  }
  template <int mu>
  SORDINO_HD void add_dimension(const Site& s, Spinor<T>& sum) const {
    const i32 half = box.sites.half;
    bool first = s.at[mu] == 0, last = s.at[mu] == box.sites.extent[mu] - 1;
    const auto* source = x.p + i64(box.block(1 - s.parity, half)) * Spinors::packets;

    HalfSpinor<T> h;
    if (box.cut[mu] && last)
      h = received<mu>(2 * mu, s);
    else
      h = project<mu, -1>(spinor(source, box.sites.neighbour<mu, 1>(s.at)));
    reconstruct<mu, -1>(links.load(s.parity, mu, s.i, half, mu == 3 && last) * h, sum);

    if (box.cut[mu] && first) {
      h = received<mu>(2 * mu + 1, s);
    } else {
      i32 n = box.sites.neighbour<mu, -1>(s.at);
      h = adjoint_times(links.load(1 - s.parity, mu, n, half, mu == 3 && first), project<mu, 1>(spinor(source, n)));
    }
    reconstruct<mu, 1>(h, sum);
  }
  SORDINO_HD Spinor<T> spinor(const typename Spinors::Packet* sites, i32 i) const {
    Spinor<T> psi;
    Spinors::load(sites, i, box.sites.half, psi);
    return psi;
  }
  /// What a neighbour's face sent to a site.
  template <int mu>
  SORDINO_HD HalfSpinor<T> received(int face, const Site& s) const {
    HalfSpinor<T> h;
    i64 first = box.face_sites + box.first[face] + box.block(1 - s.parity, box.face[mu]);
    Halves::load(arrived.p + first * Halves::packets, box.sites.face_number<mu>(s.at), box.face[mu], h);
    return h;
  }
};

/// Hop, with K real dot products of y from registers. In double precision: it is solvers that take them.
template <class Links, int K>
struct HopDots {
  static constexpr const char* name = Hop<Links>::name;
  static constexpr int resident_blocks = 1;
  using T = double;

  Hop<Links> hop;
  struct Operands {
    typename Hop<Links>::Read a, b;  // an unset one is y
  } dots[K];

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    hop.fields(visit);
    for (int k = 0; k < K; k++) {
      visit(dots[k].a);
      visit(dots[k].b);
    }
  }
  SORDINO_HD Sums<K> row(i32 row) const {
    Sums<K> sums{};
    if (row < hop.box.face_sites) {
      hop.send(row);
      return sums;
    }
    auto site = hop.site(row - hop.box.face_sites);
    return products(site, hop.compute(site));
  }
  SORDINO_HD Spinor<double> part(i32 row, int mu) const { return hop.part(row, mu); }
  SORDINO_HD Sums<K> finish(i32 row, int nth, const SpinorThird<double>& sum) const {
    if (row < hop.box.face_sites) return {};
    auto site = hop.site(row - hop.box.face_sites);
    return products(site, hop.store(site, sum, nth), nth);
  }
  /// With y at a site, or with its nth third.
  template <class Piece>
  SORDINO_HD Sums<K> products(const typename Hop<Links>::Site& site, const Piece& y, int nth = 0) const {
    Sums<K> sums{};
    for (int k = 0; k < K; k++) {
      auto operand = [&](const auto& v) { return v.p ? hop.template load<Piece>(v.p, site, nth) : y; };
      Piece a = operand(dots[k].a), b = operand(dots[k].b);
      for (int j = 0; j < int(sizeof(Piece) / sizeof(Complex<double>)); j++)
        sums.v[k] += entry(a, j).re * entry(b, j).re + entry(a, j).im * entry(b, j).im;
    }
    return sums;
  }
  Cost cost() const {
    Cost c = hop.cost();
    double n = 24.0 * hop.box.field_sites();
    int seen[2 * K + 2] = {hop.x.id, hop.z.id}, count = 2;
    for (int j = 0; j < 2 * K; j++) {
      int id = j % 2 ? dots[j / 2].b.id : dots[j / 2].a.id;
      bool counted = id < 0;
      for (int k = 0; k < count; k++) counted |= seen[k] == id;
      if (!counted) seen[count++] = id;
    }
    return {c.bytes + (count - 2) * n * sizeof(double), c.flops + 2 * K * n};
  }
};

/// The same for boxes of few sites, where a thread for each would leave a GPU waiting for one load after the other: four warps
/// share 32 sites, one a dimension, and three of them finish a third of y each.
template <class F>
struct Spread {
  static constexpr const char* name = F::name;
  static constexpr int warps_a_row = 4, shares_of_row = 3, resident_blocks = 2;
  using Share = SpinorThird<typename F::T>;

  F f;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    f.fields(visit);
  }
  SORDINO_HD auto row(i32 row) const { return f.row(row); }
  SORDINO_HD auto part(i32 row, int mu) const { return f.part(row, mu); }
  SORDINO_HD auto finish(i32 row, int nth, const Share& sum) const { return f.finish(row, nth, sum); }
  Cost cost() const { return f.cost(); }
};

/// What fields in double and in single precision need.
template <class... F>
using BothWays = KernelList<Kernel<F>..., Kernel<Spread<F>>...>;
template <int reals, class Links = LinkView<double, reals>>
using DoubleDslashKernels = BothWays<Hop<Links>, HopDots<Links, 1>, HopDots<Links, 2>, HopDots<Links, 3>>;
template <int reals>
using SingleDslashKernels = BothWays<Hop<LinkView<float, reals>>>;

}  // namespace sordino::lattice
