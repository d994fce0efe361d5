#include "sordino/precond/block_ilu.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

#include "sordino/base/parallel.hpp"
#include "sordino/linalg/epilogue.hpp"
#include "sordino/precond/tile_factor.hpp"

namespace sordino {
namespace {

constexpr i64 least_cells = 1 << 14;  // that are worth a thread

bool is_product(const DotTo& d, Vec a, Vec b) { return d.a.id == a.id && d.b.id == b.id && d.turn == Turn::none; }

}  // namespace

BlockIlu::Shape::Shape(const CsrView& A, i64 first_row, i32 count, const Tiling& tiling, bool symmetric, int width)
    : rows(tiling, first_row, count), shifts(shifts_of(A, rows)) {
  const i32 s = i32(shifts.size());
  layout = {rows.tiles.cells(), symmetric ? s + 1 : 2 * s + 1, s};
  cells = (i64(rows.tiles.count()) + width - 1) / width * width * layout.cells;
}

BlockIlu::BlockIlu(Rank& rank, const CsrView& A, int space, const Tiling& tiling, bool symmetric, int width)
    : rank_(rank),
      space_(space),
      width_(width),
      symmetric_(symmetric),
      shape_(A, rank.space(space).first_row, rank.space(space).rows, tiling, symmetric, width) {
  tile_space_ = space_of_tiles(rank, A.n, tiling);
  const std::size_t cells = std::size_t(shape_.cells), factors = cells * std::size_t(shape_.layout.slots);
  factor_ = reserve<double>(factors);
  work_ = reserve<double>(cells);
  shifts_ = uploaded(shape_.shifts);
  rows_ = shape_.rows.rows.empty() ? nullptr : uploaded(shape_.rows.rows);
  if (rank.engine().is_device()) staging_ = std::make_unique<double[]>(factors);
}

/// Sums are of this space. Their tiles are 32 rows, not 256: where the order is fixed a GPU's warp takes one, and a row is a
/// tile of the grid, which takes long.
int BlockIlu::space_of_tiles(Rank& rank, i64 n, const Tiling& tiling) const {
  const i32 count = shape_.rows.tiles.count();
  if (tiling.one_a_rank() || tiling.cells || tiling.in_any_layers)
    return rank.add_space(equal_parts(count, rank.id(), rank.size(), running_sums));
  const Partition tiles = tiles_in_layers(n, tiling, rank.size());
  Space space = distributed_space(tiles, rank.id());
  if (space.rows != count) bad_argument("block-ilu: a rank's rows are not those of whole layers of tiles");
  std::vector<i32> blocks;
  for (i32 b = 0; b <= space.my_blocks(); b++)
    blocks.push_back(i32(tiles.block_rows[std::size_t(space.first_block + b)] - space.first_row));
  set_tiles(space, blocks, running_sums);
  return rank.add_space(std::move(space));
}

BlockIlu::~BlockIlu() {
  for (auto& b : blocks_) rank_.engine().release_bytes(rank_, b.pointer, b.bytes);
}

template <class T>
T* BlockIlu::reserve(std::size_t count) {
  blocks_.push_back({rank_.engine().allocate_bytes(rank_, count * sizeof(T)), count * sizeof(T)});
  return static_cast<T*>(blocks_.back().pointer);
}

i32* BlockIlu::uploaded(const std::vector<i32>& numbers) {
  i32* to = reserve<i32>(numbers.size());
  rank_.engine().upload(rank_, to, numbers.data(), numbers.size() * sizeof(i32));
  return to;
}

i64 BlockIlu::bytes_of(const CsrView& A, i64 first_row, i32 rows, const Tiling& tiling, bool symmetric, bool device) {
  return Shape(A, first_row, rows, tiling, symmetric, width_for(device)).bytes();
}

/// visit(factor, t, where factors are stored) for all tiles, on the host's threads.
template <class Visit>
void BlockIlu::each_tile(const Visit& visit) {
  double* to = staging_ ? staging_.get() : factor_;
  auto some = [&](i64 begin, i64 end) {
    TileFactor factor(shape_.rows, shape_.shifts);
    for (i64 t = begin; t < end; t++) visit(factor, i32(t), to);
  };
  for_parts(0, shape_.rows.tiles.count(), some, std::max<i64>(1, least_cells / shape_.layout.cells));
}

void BlockIlu::upload_factors() {
  if (!staging_) return;
  const std::size_t factors = std::size_t(shape_.cells) * std::size_t(shape_.layout.slots);
  rank_.engine().upload(rank_, factor_, staging_.get(), factors * sizeof(double));
}

i64 BlockIlu::factorize(const CsrView& A) {
  if (!rank_.engine().arithmetic()) return -1;
  const i64 none = std::numeric_limits<i64>::max();
  i64 refused = none;
  std::mutex mutex;
  each_tile([&](TileFactor& factor, i32 t, double* to) {
    const i32 row = factor.factorize(A, t, symmetric_);
    if (row == TileFactor::none) return store(factor, shape_.layout, width_, t, 1, to);
    std::lock_guard lock(mutex);
    refused = std::min(refused, shape_.rows.in_matrix(row));
  });
  if (refused != none) return refused;
  upload_factors();
  return -1;
}

void BlockIlu::factorize_all(const CsrView& A, double scale) {
  if (!rank_.engine().arithmetic()) return;
  each_tile([&](TileFactor& factor, i32 t, double* to) {
    if (factor.factorize(A, t, symmetric_) != TileFactor::none) factor.keep_diagonal(A, t);
    store(factor, shape_.layout, width_, t, scale, to);
  });
  upload_factors();
}

template <int W>
void BlockIlu::record(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  auto solve = [&]<bool sums>(std::bool_constant<sums>) {
    return TileSolve<W, sums>{factor_, work_, shifts_, rows_, shape_.layout, shape_.rows.tiles, r, z};
  };
  auto& d = epilogue.dots;
  if (symmetric_ && d.size() == 2 && is_product(d[0], r, z) && is_product(d[1], r, r)) {
    rank.run_over(tile_space_, solve(std::true_type{}), start(d[0].to, d[1].to));
  } else {
    rank.run_over(tile_space_, solve(std::false_type{}));
    record_dots(rank, epilogue);
  }
}

void BlockIlu::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  width_ == 1 ? record<1>(rank, r, z, epilogue) : record<tiles_of_warp>(rank, r, z, epilogue);
}

}  // namespace sordino
