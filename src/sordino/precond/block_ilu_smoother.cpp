#include "sordino/precond/block_ilu_smoother.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/spectral_estimate.hpp"
#include "sordino/precond/tile_factor.hpp"

namespace sordino {
namespace {

constexpr i64 tile_cells = 4;    // in each direction: a GPU's threads solve a tile each, and coarse levels have few cells
constexpr double least = 0.5;    // eigenvalue of M^-1 A that is to be smoothed: errors of lesser ones the next level sees
constexpr i64 least_tiles = 64;  // that are worth a thread

/// M of one rank's tiles, on the host.
class HostTiles {
 public:
  HostTiles(const CsrView& A, i64 first_row, i32 count, const Tiling& tiling)
      : rows_(tiling, first_row, count), shifts_(shifts_of(A, rows_)) {
    const i32 s = i32(shifts_.size()), tiles = rows_.tiles.count();
    layout_ = {rows_.tiles.cells(), s + 1, s};
    factor_.resize(std::size_t(tiles) * std::size_t(layout_.cells) * std::size_t(layout_.slots));
    work_.resize(std::size_t(tiles) * std::size_t(layout_.cells));
    each([&](i64 begin, i64 end) {
      TileFactor factor(rows_, shifts_);
      for (i64 t = begin; t < end; t++) {
        if (factor.factorize(A, i32(t), true) != TileFactor::none) factor.keep_diagonal(A, i32(t));
        store(factor, layout_, 1, i32(t), 1, factor_.data());
      }
    });
  }
  /// z = M^-1 r of the rank's rows; both are of all rows.
  void solve(const double* r, double* z) {
    TileSolve<1> of{factor_.data(), work_.data(), shifts_.data(), nullptr, layout_, rows_.tiles, {}, {}};
    of.r.p = r + rows_.first_row, of.z.p = z + rows_.first_row;
    each([&](i64 begin, i64 end) {
      auto mine = of;
      for (i64 t = begin; t < end; t++) mine.row(i32(t));
    });
  }

 private:
  template <class Act>
  void each(const Act& act) const {
    for_parts(0, rows_.tiles.count(), act, least_tiles);
  }

  TiledRows rows_;
  std::vector<i32> shifts_;
  TileLayout layout_;
  std::vector<double> factor_, work_;
};

}  // namespace

Tiling smoothing_tiles(const Extents& cells) {
  Tiling tiles{.grid = cells, .in_any_layers = true};
  for (std::size_t d = 0; d < 3; d++) tiles.tile[d] = std::min<i64>(cells[d], tile_cells);
  return tiles;
}

double damping(const CsrView& A, const Partition& partition, const Tiling& tiling) {
  std::vector<HostTiles> ranks;
  for (int rank = 0; rank < partition.ranks(); rank++)
    if (partition.rows(rank) > 0) ranks.emplace_back(A, partition.first_row(rank), i32(partition.rows(rank)), tiling);
  const double largest = estimated_bound(A, [&](const double* r, double* z) {
    for (HostTiles& tiles : ranks) tiles.solve(r, z);
  });
  return 2 / (largest + least);
}

BlockIluSmoother::BlockIluSmoother(Rank& rank, const GridLevels& levels, int l, const Operator& A)
    : levels_(levels),
      level_(l),
      A_(A),
      M_(rank, levels.matrix(l), A.space(), smoothing_tiles(levels.level(l).cells), true,
         BlockIlu::width_for(rank.engine().is_device())),
      Ax_(A.result(rank, "A x of a level")),
      r_(M_.operand(rank, "r of a level")),
      z_(M_.result(rank, "z of a level")) {
  M_.factorize_all(levels.matrix(l), levels.level(l).damping);
}

void BlockIluSmoother::update_values(Rank&) { M_.factorize_all(levels_.matrix(level_), levels_.level(level_).damping); }

void BlockIluSmoother::apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const {
  M_.apply(rank, b, x);
  leave(rank, b, x, left);
}

void BlockIluSmoother::improve(Rank& rank, Vec b, Vec x, Vec to) const {
  leave(rank, b, x, r_);
  M_.apply(rank, r_, z_);
  rank.run(multigrid::Add<double>{.x = x, .y = z_, .to = to});
}

void BlockIluSmoother::leave(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  A_.apply(rank, x, Ax_);
  rank.run(multigrid::Residual<double>{.b = b, .Ax = Ax_, .r = to});
}

SmootherSize BlockIluSmoother::size_of(const GridLevels& levels, int l, int rank, i64 ghosts, bool device) {
  const GridLevel& level = levels.level(l);
  const i64 rows = level.partition.rows(rank);
  return {ghosts, 3 * i64(sizeof(double)) * rows + BlockIlu::bytes_of(levels.matrix(l), level.partition.first_row(rank),
                                                                      i32(rows), smoothing_tiles(level.cells), true, device)};
}

}  // namespace sordino
