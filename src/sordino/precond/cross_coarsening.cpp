#include "sordino/precond/cross_coarsening.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_neighbours.hpp"
#include "sordino/precond/row_starts.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread
constexpr std::size_t slots = CrossReader::slots, itself = CrossReader::itself;

/// Rows of the coarse matrix before they are packed: all entries, and which of them are stored.
struct CoarseRows {
  LargeArray<CrossRow> rows;
  LargeArray<std::uint8_t> there;
};

/// Adds up aggregates, for one thread.
class CrossAggregates {
 public:
  CrossAggregates(const CsrView& A, const GridLevel& fine, const Extents& coarse, CellWeights* from_this)
      : reader_(A, fine.cells), cells_(fine.cells), step_(fine.step), coarse_(coarse), from_this_(from_this) {
    for (std::size_t d = 0; d < 3; d++) is_paired_[d] = step_[d] == 2;
    for (std::size_t places = 0; places < outside_.size(); places++)
      for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++)
          if (leads_out(place_in(places, d), side)) outside_[places] |= std::uint8_t(1u << CrossReader::slot(d, side));
  }

  CrossRow row(i64 number, std::uint8_t& there) {
    const Extents at = place(coarse_, number);
    CrossSum sum;
    u32 found = 1u << itself;
    for (i64 z = at[2] * step_[2], z_end = std::min(z + step_[2], cells_[2]), nth_z = 0; z < z_end; z++, nth_z++)
      for (i64 y = at[1] * step_[1], y_end = std::min(y + step_[1], cells_[1]), nth_y = 0; y < y_end; y++, nth_y++)
        for (i64 x = at[0] * step_[0], x_end = std::min(x + step_[0], cells_[0]), nth_x = 0; x < x_end; x++, nth_x++) {
          const CellPlace places[] = {of(0, x, nth_x), of(1, y, nth_y), of(2, z, nth_z)};
          const i64 i = row_of(cells_, {x, y, z});
          u32 stored;
          const CrossRow fine = reader_.row(i, stored);
          sum.add(fine, places, from_this_[i]);
          found |= stored & outside_[std::size_t(places[0] + 3 * places[1] + 9 * places[2])];
        }
    there = std::uint8_t(found);
    return sum.row(is_paired_);
  }

 private:
  static CellPlace place_in(std::size_t places, int d) {
    return CellPlace(d == 0 ? places % 3 : d == 1 ? places / 3 % 3 : places / 9);
  }
  CellPlace of(std::size_t d, i64 at, i64 nth) const {
    return step_[d] == 1 || (nth == 0 && at + 1 == cells_[d]) ? alone_there : CellPlace(nth);
  }

  CrossReader reader_;
  const Extents &cells_, &step_, &coarse_;
  CellWeights* from_this_;
  bool is_paired_[3];
  std::array<std::uint8_t, 27> outside_{};  // by a cell's places, the entries that lead out of its aggregate
};

CoarseRows coarse_rows(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  const std::size_t n = std::size_t(coarse.partition.n);
  CoarseRows made{LargeArray<CrossRow>(n), LargeArray<std::uint8_t>(n)};
  for_parts(
      0, i64(n),
      [&](i64 begin, i64 end) {
        CrossAggregates aggregates(A, fine, coarse.cells, coarse.from_this.data());
        for (i64 row = begin; row < end; row++) made.rows[std::size_t(row)] = aggregates.row(row, made.there[std::size_t(row)]);
      },
      least_rows);
  return made;
}

/// Rows that are begun, and not yet filled. By diagonals where these take fewer bytes than rows with columns do.
void begin_rows(const CoarseRows& made, const CrossReader& layout, GridLevel& coarse) {
  coarse.A = LargeCsr{coarse.partition.n, LargeArray<i64>(std::size_t(coarse.partition.n) + 1)};
  std::atomic<u32> all{0};
  for_parts(
      0, coarse.A.n,
      [&](i64 begin, i64 end) {
        u32 some = 0;
        for (i64 row = begin; row < end; row++) {
          const u32 there = made.there[std::size_t(row)];
          coarse.A.indptr[std::size_t(row + 1)] = std::popcount(there);
          some |= there;
        }
        all |= some;
      },
      least_rows);
  add_up(coarse.A.indptr);
  const i64 entries = coarse.A.indptr[std::size_t(coarse.A.n)];
  coarse.A.indices = LargeArray<i32>(std::size_t(entries));
  coarse.A.values = LargeArray<double>(std::size_t(entries));
  coarse.diagonals = {};
  if (12 * entries < 8 * std::popcount(all.load()) * coarse.A.n) return;
  for (std::size_t s = 0; s < slots; s++)
    if (all.load() >> s & 1u) coarse.diagonals.offsets.push_back(s == itself ? 0 : layout.offset(s));
}

void fill_rows(const CoarseRows& made, const CrossReader& layout, bool is_new, LargeCsr& to) {
  for_parts(
      0, to.n,
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++) {
          const CrossRow& from = made.rows[std::size_t(row)];
          const double values[slots] = {from.to[2][0], from.to[1][0], from.to[0][0], from.own,
                                        from.to[0][1], from.to[1][1], from.to[2][1]};
          i64 next = to.indptr[std::size_t(row)];
          for (std::size_t s = 0; s < slots; s++) {
            if (!(made.there[std::size_t(row)] >> s & 1)) continue;
            if (is_new) to.indices[std::size_t(next)] = i32(row + (s == itself ? 0 : layout.offset(s)));
            to.values[std::size_t(next++)] = values[s];
          }
        }
      },
      least_rows);
}

}  // namespace

void coarsen_cross(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  const bool is_new = coarse.A.n == 0;
  const CoarseRows made = coarse_rows(A, fine, coarse);
  const CsrView none{};
  const CrossReader layout(none, coarse.cells);
  if (is_new) begin_rows(made, layout, coarse);
  fill_rows(made, layout, is_new, coarse.A);
}

}  // namespace sordino
