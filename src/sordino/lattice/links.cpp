#include "sordino/lattice/links.hpp"

namespace sordino::lattice {

LinkField::LinkField(Rank& rank, const Box& box, const Links& links, Precision precision, int reals) : rank_(rank) {
  bool wide = precision == Precision::double_precision;
  if (reals == 18)
    wide ? store<double, 18>(box, links) : store<float, 18>(box, links);
  else if (reals == 12)
    wide ? store<double, 12>(box, links) : store<float, 12>(box, links);
  else
    bad_argument("a link is stored as 18 or 12 reals, not " + std::to_string(reals));
}

LinkField::~LinkField() { rank_.engine().release_bytes(rank_, memory_, bytes_); }

template <class T, int reals>
void LinkField::store(const Box& box, const Links& links) {
  using View = LinkView<T, reals>;
  using Layout = typename View::Layout;
  const Checkerboard& sites = box.sites();
  i64 field = i64(sites.half) * Layout::packets;
  bytes_ = std::size_t(8 * field) * sizeof(typename Layout::Packet);
  memory_ = rank_.engine().allocate_bytes(rank_, bytes_);
  view_ = View{static_cast<const typename Layout::Packet*>(memory_), T(box.last_sign())};
  if (!rank_.engine().arithmetic()) return;
  std::vector<typename Layout::Packet> host(static_cast<std::size_t>(8 * field));
  for (int parity = 0; parity < 2; parity++)
    for (i32 i = 0; i < sites.half; i++) {
      i32 x[4];
      sites.coordinates(parity, i, x);
      for (int mu = 0; mu < 4; mu++) {
        auto U = convert<T>(links(box.global(x), mu));
        T sign = mu == 3 && x[3] == sites.extent[3] - 1 ? T(box.last_sign()) : T(1);
        for (int k = 0; k < 9; k++) entry(U, k) = entry(U, k) * sign;
        Layout::store(host.data() + (parity * 4 + mu) * field, i, sites.half, U);
      }
    }
  rank_.engine().upload(rank_, memory_, host.data(), bytes_);
}

}  // namespace sordino::lattice
