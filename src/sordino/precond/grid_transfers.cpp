#include "sordino/precond/grid_transfers.hpp"

#include <algorithm>

#include "sordino/precond/grid_levels.hpp"

namespace sordino {
namespace {

/// Of a rank's layers of a level, and of what they add up to on the next.
TransferShape shape_of(const GridLevel& fine, const GridLevel& coarse, int rank) {
  TransferShape shape{};
  const auto fill = [](const Extents& cells, i64 rows, i32(&to)[3]) {
    for (std::size_t d = 0; d < 3; d++) {
      to[d] = i32(std::min(cells[d], rows));
      rows /= std::max<i64>(to[d], 1);  // a rank without layers has none of cells either
    }
  };
  fill(fine.cells, fine.partition.rows(rank), shape.fine);
  fill(coarse.cells, coarse.adding.rows(rank), shape.coarse);
  for (std::size_t d = 0; d < 3; d++) shape.step[d] = i32(fine.step[d]);
  return shape;
}

bool moves(const GridLevel& coarse) {
  return coarse.adding.block_rows != coarse.partition.block_rows || coarse.adding.rank_blocks != coarse.partition.rank_blocks;
}

/// Between levels whose aggregates' rows lie on the same rank.
class GridTransfer : public LevelTransfer {
 public:
  GridTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : fine_(fine),
        shape_(shape_of(fine, coarse, rank.id())),
        coarse_space_(coarse_space),
        takes_part_(rank.vector("takes part", fine_space)) {
    GridTransfer::update_values(rank);
  }
  void update_values(Rank& rank) override {
    rank.write(takes_part_, fine_.takes_part.data() + fine_.partition.first_row(rank.id()));
  }
  void restrict_residual(Rank& rank, Vec b, Vec Ax, Vec to) const override {
    rank.run_over(coarse_space_, RestrictResidual{shape_, b, Ax, takes_part_, to});
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    const i32 rows = rank.space(coarse_space_).rows;
    rank.run(AddCorrection<Access::read>{shape_, {0, rows, 0, rows}, e, takes_part_, x, to});
  }

 protected:
  const GridLevel& fine_;
  TransferShape shape_;
  int coarse_space_;  // of what a rank adds up
  Vec takes_part_;
};

/// Where other ranks own the coarse level than those whose aggregates its rows are. What travels lies in two vectors by turns,
/// for who has sent the one knows that the other one has been read.
class MovingTransfer final : public GridTransfer {
 public:
  MovingTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : GridTransfer(rank, fine, coarse, fine_space, rank.add_space(distributed_space(coarse.adding, rank.id()))),
        owners_space_(coarse_space),
        down_(coarse.adding, coarse.partition, rank.id()),
        up_(coarse.partition, coarse.adding, rank.id()) {
    for (Vec& r : r_) r = down_.operand(rank, "restricted residual", coarse_space_);
    for (Vec& e : e_) e = up_.operand(rank, "correction of others", owners_space_);
  }
  Vec correction() const override { return e_[visits_ % 2]; }
  void restrict_residual(Rank& rank, Vec b, Vec Ax, Vec to) const override {
    const Vec r = r_[visits_++ % 2];
    GridTransfer::restrict_residual(rank, b, Ax, r);
    rank.push_last(r);
    down_.apply(rank, owners_space_, r, to);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    rank.run(AddCorrection<Access::ghost>{shape_, up_.place(), e, takes_part_, x, to});
  }

  static i64 words(const GridLevel& coarse, int rank) {
    return 2 * (coarse.adding.rows(rank) + RowMove::ghosts_of(coarse.adding, coarse.partition, rank) +
                coarse.partition.rows(rank) + RowMove::ghosts_of(coarse.partition, coarse.adding, rank));
  }

 private:
  int owners_space_;
  RowMove down_, up_;
  Vec r_[2], e_[2];
  mutable unsigned visits_ = 0;
};

}  // namespace

std::unique_ptr<LevelTransfer> GridLevels::transfer(Rank& rank, int l, int fine_space, int coarse_space) const {
  const GridLevel &fine = level(l), &coarse = level(l + 1);
  if (moves(coarse)) return std::make_unique<MovingTransfer>(rank, fine, coarse, fine_space, coarse_space);
  return std::make_unique<GridTransfer>(rank, fine, coarse, fine_space, coarse_space);
}

i64 GridLevels::transfer_bytes(int l, int rank, bool) const {
  const GridLevel& coarse = level(l + 1);
  return i64(sizeof(double)) * (partition(l).rows(rank) + (moves(coarse) ? MovingTransfer::words(coarse, rank) : 0));
}

}  // namespace sordino
