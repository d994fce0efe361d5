#include "sordino/lattice/dslash.hpp"

#include <algorithm>

namespace sordino::lattice {
namespace {

// With a thread a site, 16,384 sites are half a block for each of an H200's 132 multiprocessors, which then wait for one load
// after the other. Measured on 4 H200, us a hop, one thread a site and spread (single precision with 12 and 18 reals a link,
// double with 12 and 18): 16,384 sites 13.2, 13.1, 17.1, 16.9 and 11.8, 11.5, 16.3, 17.1; 55,296 sites (without the first
// case) 18.2, 28.3, 30.3 and 20.1, 30.1, 32.6; 65,536 sites on one GPU (the first case) 11.4 and 14.0. (One warp finished all
// of a site then, not three a third each.)
constexpr i32 most_spread_sites = 16'384;

/// Rows of this rank; every rank has as many, and each is one block: sums depend on the grid.
Space space_of(Rank& rank, i32 rows) {
  Space s;
  s.n_global = i64(rows) * rank.size();
  s.first_row = i64(rows) * rank.id();
  s.rows = rows;
  s.n_blocks = rank.size();
  s.first_block = rank.id();
  set_tiles(s, {0, rows});
  return s;
}
int add_space(Rank& rank, i32 rows) { return rank.add_space(space_of(rank, rows)); }

/// Sums are taken tile by tile, so tiles end where interior and surface meet.
int add_row_space(Rank& rank, i32 rows, const Split (&splits)[2]) {
  Space s = space_of(rank, rows);
  std::vector<i32>& ends = s.tile_rows;
  for (auto& split : splits)
    for (auto* ranges : {&split.ahead, &split.first, &split.rest})
      for (auto& r : *ranges) ends.push_back(r.end);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  s.block_tiles = {0, i32(ends.size()) - 1};
  return rank.add_space(std::move(s));
}

void append(std::vector<RowRange>& to, const std::vector<RowRange>& ranges, i32 shift) {
  for (auto& r : ranges) to.push_back({r.begin + shift, r.end + shift});
}

/// Rows that send, then sites.
Split split_of(const Box& box, const CutBox& cut, int target) {
  Split s;
  if (cut.face_sites > 0) s.ahead = {{0, cut.face_sites}};
  for (int k = 0; k < cut.parities; k++) {
    auto parts = box.parts(cut.parities == 2 ? k : target);
    append(s.first, parts.interior, cut.face_sites + k * box.sites().half);
    append(s.rest, parts.surface, cut.face_sites + k * box.sites().half);
  }
  return s;
}

template <class Links, class F>
Split with_share(Split split, const Hop<Links>& hop, const F& command) {
  split.ahead_share = hop.sending_cost().bytes / command.cost().bytes;
  return split;
}

template <class F, class... Epilogue>
void record_rows(Rank& rank, int space, const Split& split, const F& f, bool spread, const Epilogue&... epilogue) {
  if (spread)
    rank.run_split_over(space, Spread<F>{f}, split, epilogue...);
  else
    rank.run_split_over(space, f, split, epilogue...);
}

template <int K, class Links>
void record_with_dots(Rank& rank, int space, const Split& split, const Hop<Links>& hop, const StartDots& epilogue,
                      bool spread) {
  HopDots<Links, K> f{hop, {}};
  Start to;
  auto operand = [&](Vec v) { return v.id == hop.y.id ? Vec{} : v; };
  for (int k = 0; k < K; k++) {
    f.dots[k] = {operand(epilogue.dots[k].a), operand(epilogue.dots[k].b)};
    to.to.push_back(epilogue.dots[k].to);
  }
  record_rows(rank, space, with_share(split, hop, f), f, spread, to);
}

template <class Links>
void record_hop(Rank& rank, int space, const Split& split, const Hop<Links>& hop, const StartDots& epilogue, bool spread) {
  if (epilogue.dots.empty()) return record_rows(rank, space, with_share(split, hop, hop), hop, spread);
  for (auto& d : epilogue.dots)
    if (d.turn != Turn::none) bad_argument("dot products of spinors are real ones");
  if constexpr (std::is_same_v<typename Links::Real, double>) {
    switch (epilogue.dots.size()) {
      case 1: return record_with_dots<1>(rank, space, split, hop, epilogue, spread);
      case 2: return record_with_dots<2>(rank, space, split, hop, epilogue, spread);
      case 3: return record_with_dots<3>(rank, space, split, hop, epilogue, spread);
      default: bad_argument("an operator's epilogue takes at most 3 dot products");
    }
  }
  bad_argument("dot products are taken of fields in double precision");
}

template <class Links>
using RealOf = typename std::decay_t<Links>::Real;

}  // namespace

Dslash::Dslash(Rank& rank, const Box& box, std::shared_ptr<const LinkField> links, int parities, Spreading spreading)
    : box_(box), links_(std::move(links)), cut_(cut_box(box, parities)) {
  bool few = cut_.field_sites() <= most_spread_sites;
  spread_ = spreading == Spreading::automatic ? few : spreading == Spreading::always;
  const Coords& g = box.grid();
  if (g[0] * g[1] * g[2] * g[3] != rank.size() || box.rank() != rank.id())
    bad_argument("rank " + std::to_string(rank.id()) + " of " + std::to_string(rank.size()) + " was given box " +
                 std::to_string(box.rank()) + " of a grid of " + to_string(g));
  for (int target = 0; target < 3 - parities; target++) split_[target] = split_of(box, cut_, target);
  std::visit(
      [&](auto& view) {
        using T = RealOf<decltype(view)>;
        precision_ = sizeof(T) == 8 ? Precision::double_precision : Precision::single_precision;
        faces_exchange_ = face_exchange(box, cut_, half_spinor_words<T>);
        i32 words = cut_.field_sites() * spinor_words<T>;
        nothing_travels_.producer.first = nothing_travels_.consumer.first = {{0, words}};
        space_ = add_space(rank, words);
        rows_ = add_row_space(rank, cut_.face_sites + cut_.field_sites(), split_);
        if (cut_.face_sites == 0) return;
        int faces = add_space(rank, cut_.face_sites * half_spinor_words<T>);
        for (Vec& v : faces_) v = rank.vector("faces", faces, &faces_exchange_);
      },
      links_->view());
}

void Dslash::record(Rank& rank, const Fields& f, double scale, int target, const StartDots& epilogue) const {
  if (f.x.id == f.y.id || f.z.id == f.y.id) bad_argument("a product with the hopping term cannot overwrite its operands");
  Vec faces = faces_[next_];
  next_ = 1 - next_;
  CutBox box = cut_;
  box.target = box.parities == 1 ? target : 0;
  std::visit(
      [&](auto& view) {
        using Links = std::decay_t<decltype(view)>;
        Hop<Links> hop{box, view, typename Links::Real(scale), f.x, faces, faces, f.z, f.y, f.pushed};
        record_hop(rank, rows_, split_[box.target], hop, epilogue, spread_);
      },
      links_->view());
}

std::vector<double> Dslash::pack(Rank& rank, const Source& source, int parity) const {
  if (!rank.engine().arithmetic()) return {};
  std::vector<double> words(std::size_t(rank.space(space_).rows));
  std::visit(
      [&](auto& view) {
        using Layout = SpinorTiles<RealOf<decltype(view)>>;
        auto* packets = reinterpret_cast<typename Layout::Packet*>(words.data());
        for (int k = 0; k < cut_.parities; k++, packets += i64(cut_.sites.half) * Layout::packets)
          for (i32 i = 0; i < cut_.sites.half; i++) {
            i32 x[4];
            cut_.sites.coordinates(cut_.parities == 2 ? k : parity, i, x);
            auto psi = convert<RealOf<decltype(view)>>(source(box_.global(x)));
            Layout::store(packets, i, cut_.sites.half, psi);
          }
      },
      links_->view());
  return words;
}

void Dslash::unpack(const std::vector<double>& words, const std::function<void(const Coords&, const Spinor<double>&)>& visit,
                    int parity) const {
  std::visit(
      [&](auto& view) {
        using Layout = SpinorTiles<RealOf<decltype(view)>>;
        auto* packets = reinterpret_cast<const typename Layout::Packet*>(words.data());
        for (int k = 0; k < cut_.parities; k++, packets += i64(cut_.sites.half) * Layout::packets)
          for (i32 i = 0; i < cut_.sites.half; i++) {
            i32 x[4];
            cut_.sites.coordinates(cut_.parities == 2 ? k : parity, i, x);
            Spinor<RealOf<decltype(view)>> psi;
            Layout::load(packets, i, cut_.sites.half, psi);
            visit(box_.global(x), convert<double>(psi));
          }
      },
      links_->view());
}

}  // namespace sordino::lattice
