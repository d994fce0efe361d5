// The rows of the hop on plain arrays: taken whole, and spread over threads that compute a dimension each and finish a third.
#include "sordino/lattice/dslash_rows.hpp"

#include "check.hpp"
#include "fields.hpp"
#include "sordino/lattice/faces.hpp"
#include "sordino/runtime/body.hpp"

using namespace sordino;
using namespace sordino::lattice;

namespace {

const Lattice lattice{{4, 6, 2, 4}};
const Box box(lattice, {1, 1, 1, 1}, 0);

template <class Tiles>
std::vector<typename Tiles::Packet> random_packets(i64 objects, fresh::Random& random) {
  std::vector<typename Tiles::Packet> packets(std::size_t(objects * Tiles::packets));
  for (auto& p : packets)
    for (auto& z : p.z) z = {decltype(z.re)(random.normal()), decltype(z.re)(random.normal())};
  return packets;
}

/// As the warps of a GPU that share a row.
template <class F>
auto spread_row(const Spread<F>& f, i32 row) {
  using Share = typename Spread<F>::Share;
  auto finish = [&](int nth) {
    Share sum;
    for (int mu = 0; mu < f.warps_a_row; mu++) sum += Share(f.part(row, mu), nth);
    return f.finish(row, nth, sum);
  };
  if constexpr (sums_of<F> > 0) {
    auto sums = finish(0);
    for (int nth = 1; nth < f.shares_of_row; nth++) {
      auto more = finish(nth);
      for (int k = 0; k < sums_of<F>; k++) sums.v[k] += more.v[k];
    }
    return sums;
  } else {
    for (int nth = 0; nth < f.shares_of_row; nth++) finish(nth);
  }
}

/// A hop, with or without z, and what it reads and writes.
template <class T, int reals>
struct Slices {
  using Links = LinkView<T, reals>;
  using Spinors = SpinorTiles<T>;

  Slices(int parities, bool with_z, fresh::Random& random) {
    hop.box = cut_box(box, parities);
    hop.box.target = parities == 1;
    sites = hop.box.field_sites();
    links = random_packets<typename Links::Layout>(8 * hop.box.sites.half, random);
    for (auto* v : {&x, &z, &a}) *v = random_packets<Spinors>(sites, random);
    hop.links = {links.data(), T(-1)};
    hop.scale = T(0.3);
    hop.x.p = x.data();
    if (with_z) hop.z.p = z.data();
  }
  void write_to(std::vector<typename Spinors::Packet>& y, lattice::Hop<Links>& f) {
    y.assign(x.size(), {});
    f.y.p = y.data();
  }

  std::vector<typename Links::Layout::Packet> links;
  std::vector<typename Spinors::Packet> x, z, a;
  lattice::Hop<Links> hop{};
  i32 sites;
};

template <class Packets>
double difference(const Packets& a, const Packets& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); i++)
    for (std::size_t j = 0; j < std::size(a[i].z); j++)
      most = std::max({most, std::abs(double(a[i].z[j].re - b[i].z[j].re)), std::abs(double(a[i].z[j].im - b[i].z[j].im))});
  return most;
}

template <class T, int reals>
void check_hop(double tolerance) {
  fresh::Random random(fresh::seed());
  for (int parities : {1, 2})
    for (bool with_z : {false, true}) {
      NOTE(sizeof(T), " bytes, ", reals, " reals a link, ", parities, " parities, ", with_z ? "with z" : "without z");
      Slices<T, reals> o(parities, with_z, random);
      std::vector<typename Slices<T, reals>::Spinors::Packet> whole, spread;
      o.write_to(whole, o.hop);
      for (i32 row = 0; row < o.sites; row++) o.hop.row(row);
      o.write_to(spread, o.hop);
      for (i32 row = 0; row < o.sites; row++) spread_row(Spread<lattice::Hop<LinkView<T, reals>>>{o.hop}, row);
      CHECK_NEAR(difference(whole, spread), 0, tolerance);
      CHECK(difference(whole, std::vector(whole.size(), whole[0])) > 0.1);
    }
}

}  // namespace

TEST("a site spread over four threads is the site, in both precisions and link formats") {
  NOTE(fresh::said());
  check_hop<double, 18>(1e-12);
  check_hop<double, 12>(1e-12);
  check_hop<float, 18>(1e-3);
  check_hop<float, 12>(1e-3);
}

TEST("dot products of a spread site are those of the site") {
  NOTE(fresh::said());
  fresh::Random random(fresh::seed());
  Slices<double, 18> o(2, true, random);
  HopDots<LinkView<double, 18>, 3> f{o.hop, {}};
  f.dots[0].a.p = o.a.data();  // (a, y), (y, y), (z, a)
  f.dots[2].a.p = o.z.data();
  f.dots[2].b.p = o.a.data();
  std::vector<SpinorTiles<double>::Packet> whole, spread;
  o.write_to(whole, f.hop);
  std::vector<Sums<3>> wanted;
  for (i32 row = 0; row < o.sites; row++) wanted.push_back(f.row(row));
  o.write_to(spread, f.hop);
  for (i32 row = 0; row < o.sites; row++) {
    Sums<3> found = spread_row(Spread<HopDots<LinkView<double, 18>, 3>>{f}, row);
    for (int k = 0; k < 3; k++) CHECK_NEAR(found.v[k], wanted[std::size_t(row)].v[k], 1e-9);
  }
  CHECK_NEAR(difference(whole, spread), 0, 1e-12);
}
