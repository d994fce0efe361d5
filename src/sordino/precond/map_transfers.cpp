#include "sordino/precond/map_transfers.hpp"

#include "sordino/linalg/row_move.hpp"

namespace sordino {
namespace {

i64 bytes_of_arrays(const MapView& A, const Partition& rows, int rank) {
  const i64 first = rows.first_row(rank), end = rows.first_row(rank + 1);
  return (A.begin(end) - A.begin(first)) * i64(sizeof(double) + sizeof(i32)) + (end - first) * i64(sizeof(i64));
}

i64 bytes_of_arrays(const LevelMaps& maps, int rank) {
  return bytes_of_arrays(maps.P, maps.fine, rank) + bytes_of_arrays(maps.R, maps.coarse, rank);
}

class MapTransfer : public LevelTransfer {
 public:
  MapTransfer(Rank& rank, const LevelMaps& maps, int fine_space, int coarse_space)
      : P_(rank, maps.P, maps.fine, fine_space, maps.coarse, coarse_space),
        R_(rank, maps.R, maps.coarse, coarse_space, maps.fine, fine_space),
        arrays_(bytes_of_arrays(maps, rank.id())) {
    for (Vec& r : r_) r = R_.operand(rank, "r to be restricted");
    for (Vec& e : e_) e = P_.operand(rank, "correction to be interpolated");
  }
  Vec residual() const override { return r_[visits_ % 2]; }
  Vec correction() const override { return e_[visits_ % 2]; }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override { R_.apply(rank, residual, to); }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    P_.apply(rank, e, to, x);
    visits_++;
  }
  i64 bytes() const override { return P_.bytes() + R_.bytes() + arrays_; }

 protected:
  unsigned visits() const { return visits_; }

 private:
  CsrMap P_, R_;
  i64 arrays_;
  Vec r_[2], e_[2];
  mutable unsigned visits_ = 0;
};

class MovingTransfer final : public MapTransfer {
 public:
  MovingTransfer(Rank& rank, const LevelMaps& maps, int fine_space, const Partition& owners, int coarse_space)
      : MovingTransfer(rank, maps, fine_space, rank.add_space(distributed_space(maps.coarse, rank.id())), owners,
                       coarse_space) {}
  Vec correction() const override { return e_[visits() % 2]; }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override {
    const Vec r = r_[visits() % 2];
    MapTransfer::restrict_residual(rank, residual, r);
    rank.push_last(r);
    down_.apply(rank, owners_space_, r, to);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    const Vec here = MapTransfer::correction();
    up_.apply(rank, own_space_, e, here);
    rank.push_last(here);
    MapTransfer::add_correction(rank, here, x, to);
  }

 private:
  MovingTransfer(Rank& rank, const LevelMaps& maps, int fine_space, int own_space, const Partition& owners, int coarse_space)
      : MapTransfer(rank, maps, fine_space, own_space),
        own_space_(own_space),
        owners_space_(coarse_space),
        down_(maps.coarse, owners, rank.id()),
        up_(owners, maps.coarse, rank.id()) {
    for (Vec& r : r_) r = down_.operand(rank, "restricted residual", own_space_);
    for (Vec& e : e_) e = up_.operand(rank, "correction of others", owners_space_);
  }

  int own_space_, owners_space_;
  RowMove down_, up_;
  Vec r_[2], e_[2];
};

}  // namespace

std::unique_ptr<LevelTransfer> map_transfer(Rank& rank, const LevelMaps& maps, int fine_space, int coarse_space) {
  return std::make_unique<MapTransfer>(rank, maps, fine_space, coarse_space);
}

i64 map_transfer_bytes(const LevelMaps& maps, int rank, bool device) {
  const auto& [P, R, fine, coarse] = maps;
  const i64 words = 2 * (fine.rows(rank) + CsrMap::ghosts_of(R, coarse, fine, rank)) +
                    2 * (coarse.rows(rank) + CsrMap::ghosts_of(P, fine, coarse, rank));
  return i64(sizeof(double)) * words + CsrMap::bytes_of(P, fine, rank, device) + CsrMap::bytes_of(R, coarse, rank, device) +
         (device ? 0 : bytes_of_arrays(maps, rank));
}

std::unique_ptr<LevelTransfer> moving_transfer(Rank& rank, const LevelMaps& maps, int fine_space, const Partition& owners,
                                               int coarse_space) {
  return std::make_unique<MovingTransfer>(rank, maps, fine_space, owners, coarse_space);
}

i64 moving_transfer_bytes(const LevelMaps& maps, const Partition& owners, int rank, bool device) {
  const i64 words = 2 * (maps.coarse.rows(rank) + RowMove::ghosts_of(maps.coarse, owners, rank) + owners.rows(rank) +
                         RowMove::ghosts_of(owners, maps.coarse, rank));
  return map_transfer_bytes(maps, rank, device) + i64(sizeof(double)) * words;
}

}  // namespace sordino
