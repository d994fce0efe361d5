#include "sordino/precond/grid_coarsening.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/grid_neighbours.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread
constexpr i64 block = 1 << 14;       // rows whose entries are counted together
constexpr std::size_t slots = std::size_t(GridNeighbours::count);
constexpr int alone = 2, places = 27;  // of a cell in its aggregate, in each direction 0, 1 or alone
constexpr std::size_t middle = std::size_t(GridNeighbours::itself);
// Of the largest of a row's couplings, in directions: what is less counts less across an aggregate's side, and what couplings
// inwards are taken for beside a wall. In directions of pairs those of one phase are more (grid_steps.hpp).
constexpr double weak = 0.25, least_inward = 0.4;

/// Entries of a row of the coarse matrix, by its neighbours.
struct CoarseRow {
  std::array<double, slots> values{};
  std::array<bool, slots> there{};
};

/// What a fine cell's row says of one direction of its aggregate.
struct Side {
  double inward = 0, outward = 0;  // couplings with the cell's partner's side, and with the other one
  double most = 0;                 // of both
  bool has_other = false;          // whether the cell next to it outside is coupled
  bool is_paired = false;          // whether it has a partner
};

/// Adds up aggregates, for one thread.
class Aggregates {
 public:
  Aggregates(const CsrView& A, const GridLevel& fine, const Extents& coarse)
      : A_(A), fine_(fine), coarse_(coarse), neighbours_(fine.cells) {
    for (std::size_t to = 0; to < slots; to++) {
      const Extents by = GridNeighbours::step(int(to));
      shares_[to] = 1;
      for (std::size_t d = 0; d < 3; d++)
        if (by[d] != 0 && fine.step[d] == 2) shares_[to] = 0.5;
      for (int cell = 0; cell < places; cell++) slots_[std::size_t(cell)][to] = slot(cell, by);
    }
    for (std::size_t d = 0; d < 3; d++) has_two_ |= coarse.at(d) == 2;
  }

  /// Which entries a row has.
  CoarseRow pattern(i64 row) {
    CoarseRow found;
    found.there[middle] = true;
    for_cells(row, [&](i64 i, const Extents& at, std::size_t, const auto& to) {
      for (i64 k = A_.begin(i), begin = k; k < A_.begin(i + 1); k++)
        found.there[folded(to[number_of(i, at, k, begin)], place(coarse_, row))] = true;
    });
    return found;
  }

  /// P^T A P of one aggregate with constant P, with what crosses a direction of pairs counted half, and what of its cells' rows
  /// the next level holds. Stores what P takes for these cells.
  CoarseRow values(i64 row, CellWeights* from_this) {
    CoarseRow found;
    found.there[middle] = true;
    double excess = 0;
    const Extents corner = place(coarse_, row);
    for_cells(row, [&](i64 i, const Extents& at, std::size_t cell, const auto& to) {
      const bool takes_part = fine_.takes_part[std::size_t(i)] != 0;
      std::array<double, slots> row_of_cell{};
      for (i64 k = A_.begin(i), begin = k; k < A_.begin(i + 1); k++) {
        const std::size_t neighbour = number_of(i, at, k, begin), slot = folded(to[neighbour], corner);
        found.there[slot] = true;
        row_of_cell[neighbour] += A_.values[k];
        if (takes_part && slot != middle) found.values[slot] += A_.values[k];
      }
      from_this[i] = {};
      if (takes_part) excess += held_by(row_of_cell, at, cell, from_this[i]);
    });
    double diagonal = excess;
    for (std::size_t slot = 0; slot < slots; slot++) {
      if (slot == middle) continue;
      found.values[slot] *= shares_[slot];
      diagonal -= found.values[slot];
    }
    found.values[middle] = diagonal > 0 ? diagonal : 1;  // of an aggregate in which no cell takes part
    return found;
  }

 private:
  /// Of a step from one of an aggregate's cells, x fastest, whose places in it are 0, 1 or `alone`: where its end is, seen from
  /// the aggregate.
  std::uint8_t slot(int cell, const Extents& by) const {
    const int at[] = {cell % 3, cell / 3 % 3, cell / 9};
    i64 number = 0;
    for (std::size_t d = 3; d-- > 0;) number = 3 * number + (at[d] == alone ? by[d] : (at[d] + by[d]) >> 1) + 1;
    return std::uint8_t(number);
  }

  /// A cell's place in its aggregate in a direction.
  int place_in(std::size_t d, i64 at, i64 nth) const {
    return fine_.step[d] == 1 || (nth == 0 && at + 1 == fine_.cells[d]) ? alone : int(nth);
  }

  /// Of two aggregates in a periodic direction each is on both sides of the other: the one side that they have in the grid.
  std::size_t folded(std::size_t slot, const Extents& corner) const {
    if (!has_two_) return slot;
    const Extents by = GridNeighbours::step(int(slot));
    std::size_t number = 0;
    for (std::size_t d = 3; d-- > 0;) {
      const bool has_one_side = coarse_[d] == 2 && by[d] != 0;
      number = 3 * number + std::size_t((has_one_side ? (corner[d] == 0 ? 1 : -1) : by[d]) + 1);
    }
    return number;
  }

  std::size_t number_of(i64 row, const Extents& at, i64 k, i64 begin) {
    return std::size_t(neighbours_.find(row, at, A_.indices[k], std::size_t(k - begin)));
  }

  /// Of a fine cell's couplings, by its neighbours, whose numbers grow by `stride` in direction d.
  Side side_of(const std::array<double, slots>& row, const Extents& at, std::size_t cell, std::size_t d) const {
    constexpr std::size_t strides[] = {1, 3, 9};
    const std::size_t stride = strides[d], here = cell / stride % 3, wide = strides[(d + 1) % 3], high = strides[(d + 2) % 3];
    double behind = 0, ahead = 0;
    for (std::size_t n = 0; n < 3; n++)
      for (std::size_t m = 0; m < 3; m++) {
        behind -= row[n * wide + m * high];
        ahead -= row[n * wide + m * high + 2 * stride];
      }
    const double most = std::max(behind, ahead);
    if (here == alone) return {.inward = behind > 0 && ahead > 0 ? 0 : most, .most = most};
    const bool is_second = here == 1;
    // Behind the last cell of odd many in a periodic direction there is one alone, which is on two sides of others.
    const bool is_cut = !is_second && at[d] == 0 && fine_.cells[d] % 2 != 0;
    const std::size_t other = is_second ? middle + stride : middle - stride;
    return {.inward = is_second ? behind : ahead,
            .outward = is_second ? ahead : behind,
            .most = most,
            .has_other = row[other] != 0 && !is_cut,
            .is_paired = true};
  }

  /// Of a quarter, what a cell takes from the aggregate behind a side: less where the coupling across is weaker than the one
  /// inwards, and where it is weak beside the row's largest. Cells that are coupled strongly else would take different parts of
  /// a correction across phases, and lose in their couplings more than that gains.
  static double share_across(const Side& side, double most) {
    return std::min(1.0, 2 * side.outward / (side.inward + side.outward)) * std::min(1.0, side.outward / (weak * most));
  }

  /// Of what a cell's row adds up to, what the next level holds; and what P takes for it (grid_levels.hpp).
  double held_by(const std::array<double, slots>& row, const Extents& at, std::size_t cell, CellWeights& weights) const {
    double excess = 0, open = 0, paired = 0, most = 0;
    for (double value : row) excess += value;
    Side sides[3];
    for (std::size_t d = 0; d < 3; d++) {
      const Side& side = sides[d] = side_of(row, at, cell, d);
      most = std::max(most, side.most);
      if (side.outward > 0 || !(side.inward > 0)) continue;
      open += side.inward;
      if (side.is_paired) paired += side.inward;
    }
    // Couplings with them, over twice those inward.
    const double walls = open > 0 && excess > 0 ? excess / (2 * std::max(open, least_inward * most)) : 0;
    int left = CellWeights::one;
    for (std::size_t d = 0; d < 3; d++) {
      const Side& side = sides[d];
      if (!side.is_paired || !(side.inward > 0)) continue;
      const double across = side.has_other && side.outward > 0 ? 0.25 * share_across(side, most) : 0;
      const double wall = side.outward > 0 ? 0 : walls / (1 + walls);
      weights.across[d] = std::uint16_t(std::lround(across * CellWeights::one));
      left -= int(std::lround((across + wall) * CellWeights::one));
    }
    weights.own = std::uint16_t(std::max(left, 0));
    return open > 0 ? excess * (1 - paired / open * (walls / (1 + walls))) : excess;
  }

  /// act(row, its cell, its places in the aggregate, where its neighbours are, seen from there), one after the other.
  template <class Act>
  void for_cells(i64 row, const Act& act) {
    const Extents corner = place(coarse_, row);
    const Extents& step = fine_.step;
    for (i64 z = 0; z < step[2]; z++)
      for (i64 y = 0; y < step[1]; y++)
        for (i64 x = 0; x < step[0]; x++) {
          const Extents at{corner[0] * step[0] + x, corner[1] * step[1] + y, corner[2] * step[2] + z};
          if (at[0] >= fine_.cells[0] || at[1] >= fine_.cells[1] || at[2] >= fine_.cells[2]) continue;
          const auto cell = std::size_t(place_in(0, at[0], x) + 3 * place_in(1, at[1], y) + 9 * place_in(2, at[2], z));
          act(row_of(fine_.cells, at), at, cell, slots_[cell]);
        }
  }

  const CsrView& A_;
  const GridLevel& fine_;
  const Extents& coarse_;
  GridNeighbours neighbours_;
  std::array<double, slots> shares_;                           // that count of what crosses
  std::array<std::array<std::uint8_t, slots>, places> slots_;  // by the cell's places in its aggregate, and its neighbour
  bool has_two_ = false;                                       // aggregates in a direction
};

/// From counts of each row, at the place behind it, to where rows begin.
void add_up(LargeArray<i64>& starts) {
  const i64 rows = i64(starts.size()) - 1, blocks = (rows + block - 1) / block;
  std::vector<i64> before(std::size_t(blocks) + 1, 0);
  auto for_blocks = [&](const auto& act) {
    for_parts(
        0, blocks,
        [&](i64 begin, i64 end) {
          for (i64 b = begin; b < end; b++) act(std::size_t(b), b * block, std::min((b + 1) * block, rows));
        },
        1);
  };
  for_blocks([&](std::size_t b, i64 first, i64 last) {
    for (i64 row = first; row < last; row++) before[b + 1] += starts[std::size_t(row) + 1];
  });
  for (std::size_t b = 0; b < std::size_t(blocks); b++) before[b + 1] += before[b];
  starts[0] = 0;
  for_blocks([&](std::size_t b, i64 first, i64 last) {
    i64 sum = before[b];
    for (i64 row = first; row < last; row++) starts[std::size_t(row) + 1] = sum += starts[std::size_t(row) + 1];
  });
}

/// Calls act(aggregates, row) for all rows of the coarse matrix.
template <class Act>
void for_coarse_rows(const CsrView& A, const GridLevel& fine, const GridLevel& coarse, const Act& act) {
  for_parts(
      0, coarse.partition.n,
      [&](i64 begin, i64 end) {
        Aggregates aggregates(A, fine, coarse.cells);
        for (i64 row = begin; row < end; row++) act(aggregates, row);
      },
      least_rows);
}

/// Rows that are begun, and not yet filled.
LargeCsr begun(const CsrView& A, const GridLevel& fine, const GridLevel& coarse) {
  LargeCsr to{coarse.partition.n, LargeArray<i64>(std::size_t(coarse.partition.n) + 1)};
  for_coarse_rows(A, fine, coarse, [&](Aggregates& aggregates, i64 row) {
    const auto there = aggregates.pattern(row).there;
    to.indptr[std::size_t(row + 1)] = std::count(there.begin(), there.end(), true);
  });
  add_up(to.indptr);
  const std::size_t entries = std::size_t(to.indptr[std::size_t(to.n)]);
  to.indices = LargeArray<i32>(entries);
  to.values = LargeArray<double>(entries);
  return to;
}

/// The columns and values of a row's entries, in the order of columns, which slots of a periodic box are not in.
class SortedEntries {
 public:
  SortedEntries(const CoarseRow& row, const Extents& cells, i64 number) {
    const Extents at = place(cells, number);
    for (std::size_t slot = 0; slot < slots; slot++) {
      if (!row.there[slot]) continue;
      Extents to = GridNeighbours::step(int(slot));
      for (std::size_t d = 0; d < 3; d++) to[d] = step_from(at[d], to[d], cells[d]);
      entries_[count_++] = {i32(row_of(cells, to)), row.values[slot]};
    }
    if (!std::is_sorted(begin(), end())) std::sort(entries_.data(), entries_.data() + count_);
  }
  const std::pair<i32, double>* begin() const { return entries_.data(); }
  const std::pair<i32, double>* end() const { return entries_.data() + count_; }

 private:
  std::array<std::pair<i32, double>, slots> entries_;
  std::size_t count_ = 0;
};

/// Where they take fewer bytes than rows with columns do, as of all boxes but periodic ones.
Diagonals diagonals_of_level(const CsrView& A) {
  const i64 count = i64(find_diagonals(A).offsets.size());
  return count == 0 || 12 * A.nnz() < 8 * count * A.n ? Diagonals{} : diagonals_of(A, "dia");
}

/// What each aggregate takes from cells behind its own: what those take from it.
void find_restriction(const GridLevel& fine, GridLevel& coarse) {
  for_parts(
      0, fine.partition.n,
      [&](i64 begin, i64 end) {
        for (i64 row = begin; row < end; row++) {
          const Extents at = place(fine.cells, row);
          CellWeights& to = coarse.to_this[std::size_t(row)] = coarse.from_this[std::size_t(row)];
          for (std::size_t d = 0; d < 3; d++) {
            if (fine.step[d] == 1) continue;
            Extents other = at;
            other[d] = step_from(at[d], at[d] % 2 != 0 ? 1 : -1, fine.cells[d]);
            to.across[d] = coarse.from_this[std::size_t(row_of(fine.cells, other))].across[d];
          }
        }
      },
      least_rows);
}

}  // namespace

void coarsen(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  const bool is_new = coarse.A.n == 0;
  if (is_new) {
    coarse.A = begun(A, fine, coarse);
    coarse.from_this = LargeArray<CellWeights>(std::size_t(A.n));
    coarse.to_this = LargeArray<CellWeights>(std::size_t(A.n));
  }
  for_coarse_rows(A, fine, coarse, [&](Aggregates& aggregates, i64 row) {
    i64 next = coarse.A.indptr[std::size_t(row)];
    for (const auto& [column, value] : SortedEntries(aggregates.values(row, coarse.from_this.data()), coarse.cells, row)) {
      if (is_new) coarse.A.indices[std::size_t(next)] = column;
      coarse.A.values[std::size_t(next++)] = value;
    }
  });
  find_restriction(fine, coarse);
  if (is_new) coarse.diagonals = diagonals_of_level(coarse.A.view());
}

}  // namespace sordino
