#include "sordino/precond/grid_coarsening.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "sordino/base/parallel.hpp"
#include "sordino/precond/cross_coarsening.hpp"
#include "sordino/precond/grid_neighbours.hpp"
#include "sordino/precond/row_starts.hpp"
#include "sordino/precond/unpaired_couplings.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread
constexpr std::size_t slots = std::size_t(GridNeighbours::count);
constexpr int places = 27;  // of a cell in its aggregate, a CellPlace in each direction
constexpr std::size_t middle = std::size_t(GridNeighbours::itself);
constexpr std::array<std::size_t, 3> strides{1, 3, 9};  // of neighbours' numbers
constexpr double least_there = 0.125;                   // of a cell's couplings on a side, with the aggregate across it

/// Entries of a row of the coarse matrix, by its neighbours.
struct CoarseRow {
  std::array<double, slots> values{};
  std::array<bool, slots> there{};

  /// Slots that are reached, a bit each.
  void add(u32 reached) {
    for (std::size_t slot = 0; slot < slots; slot++) there[slot] |= (reached >> slot & 1u) != 0;
  }
};

/// Adds up aggregates, for one thread.
class Aggregates {
 public:
  Aggregates(const CsrView& A, const GridLevel& fine, const Extents& coarse, UnpairedCouplings& unpaired)
      : A_(A), fine_(fine), coarse_(coarse), unpaired_(unpaired), neighbours_(fine.cells) {
    for (std::size_t to = 0; to < slots; to++) {
      const Extents by = GridNeighbours::step(int(to));
      shares_[to] = 1;
      for (std::size_t d = 0; d < 3; d++)
        if (by[d] != 0 && fine.step[d] == 2) shares_[to] = 0.5;
      for (int cell = 0; cell < places; cell++) {
        slots_[std::size_t(cell)][to] = slot(cell, by);
        in_slot_[std::size_t(cell)][slot(cell, by)] |= 1u << to;
        reached_[std::size_t(cell)] |= 1u << slot(cell, by);
      }
    }
    for (std::size_t d = 0; d < 3; d++) has_two_ |= coarse.at(d) == 2;
  }

  /// Which entries a row has.
  CoarseRow pattern(i64 row) {
    CoarseRow found = begun(row);
    u32 reached = 1u << middle;
    for_cells(row, [&](i64 i, const Extents& at, std::size_t cell, const auto& to) {
      if (is_whole(i, at)) {
        reached |= reached_[cell];
        return;
      }
      for (i64 k = A_.begin(i), begin = k; k < A_.begin(i + 1); k++)
        found.there[folded(to[number_of(i, at, k, begin)], place(coarse_, row))] = true;
    });
    found.add(reached);
    return found;
  }

  /// P^T A P of one aggregate with constant P, with what crosses a direction of pairs counted half, and what of its cells' rows
  /// the next level holds. Stores what P takes for these cells.
  CoarseRow values(i64 row, CellWeights* from_this) {
    CoarseRow found = begun(row);
    u32 reached = 1u << middle;
    double excess = 0;
    const Extents corner = place(coarse_, row);
    UnpairedCouplings::Row unpaired{};
    for_cells(row, [&](i64 i, const Extents& at, std::size_t cell, const auto& to) {
      const bool takes_part = fine_.takes_part[std::size_t(i)] != 0;
      from_this[i] = {};
      if (is_whole(i, at)) {
        const double* const row_of_cell = A_.values + A_.begin(i);
        reached |= reached_[cell];
        if (!takes_part) return;
        for (u32 left = reached_[cell]; left != 0; left &= left - 1)
          add_neighbours(row_of_cell, cell, std::countr_zero(left), found);
        excess += held(row_of_cell, at, cell, from_this[i], unpaired);
        return;
      }
      double row_of_cell[slots] = {};
      for (i64 k = A_.begin(i), begin = k; k < A_.begin(i + 1); k++) {
        const std::size_t neighbour = number_of(i, at, k, begin), slot = folded(to[neighbour], corner);
        found.there[slot] = true;
        row_of_cell[neighbour] += A_.values[k];
        if (takes_part && slot != middle) found.values[slot] += A_.values[k];
      }
      if (takes_part) excess += held(row_of_cell, at, cell, from_this[i], unpaired);
    });
    found.add(reached);
    double diagonal = excess;
    for (std::size_t slot = 0; slot < slots; slot++) {
      if (slot == middle) continue;
      if (unpaired_.are_there()) unpaired[unpaired_.step(slot)] += (1 - shares_[slot]) * found.values[slot];
      found.values[slot] *= shares_[slot];
      diagonal -= found.values[slot];
    }
    found.values[middle] = diagonal;
    if (unpaired_.are_there())
      unpaired_.set(row, unpaired);
    else if (!(diagonal > 0))
      found.values[middle] = 1;  // of an aggregate in which no cell takes part
    return found;
  }

 private:
  /// With the diagonal, and with what other rows may give to.
  CoarseRow begun(i64 row) const {
    CoarseRow found;
    found.there[middle] = true;
    if (!unpaired_.are_there()) return found;
    const Extents at = place(coarse_, row);
    for (std::size_t slot = 0; slot < slots; slot++) {
      const Extents by = GridNeighbours::step(int(slot));
      bool is_inside = unpaired_.is_along(slot);
      for (std::size_t d = 0; d < 3; d++) is_inside = is_inside && u64(at[d] + by[d]) < u64(coarse_[d]);
      found.there[slot] |= is_inside;
    }
    return found;
  }

  /// Of a step from one of an aggregate's cells, x fastest, whose places in it are each a CellPlace: where its end is, seen
  /// from the aggregate.
  std::uint8_t slot(int cell, const Extents& by) const {
    const int at[] = {cell % 3, cell / 3 % 3, cell / 9};
    i64 number = 0;
    for (std::size_t d = 3; d-- > 0;) number = 3 * number + (at[d] == alone_there ? by[d] : (at[d] + by[d]) >> 1) + 1;
    return std::uint8_t(number);
  }

  /// A cell's place in its aggregate in a direction.
  int place_in(std::size_t d, i64 at, i64 nth) const {
    return fine_.step[d] == 1 || (nth == 0 && at + 1 == fine_.cells[d]) ? alone_there : int(nth);
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

  /// Adds a cell's couplings with its neighbours in a slot, in their order.
  void add_neighbours(const double* row, std::size_t cell, int slot, CoarseRow& to) const {
    double sum = to.values[std::size_t(slot)];
    for (u32 left = in_slot_[cell][std::size_t(slot)]; left != 0; left &= left - 1) sum += row[std::countr_zero(left)];
    to.values[std::size_t(slot)] = sum;
  }

  std::size_t number_of(i64 row, const Extents& at, i64 k, i64 begin) {
    return std::size_t(neighbours_.find(row, at, A_.indices[k], std::size_t(k - begin)));
  }

  /// Whether a cell's row has all neighbours in their order, each in an aggregate of its own slot.
  bool is_whole(i64 row, const Extents& at) const { return !has_two_ && neighbours_.are_all(A_, row, at); }

  /// Of a fine cell's couplings `row`, by its neighbours, whose numbers grow by `stride` in direction d. What it meets is
  /// looked for on the side that is not its aggregate's.
  SideCouplings couplings_of(const double* row, const Extents& at, std::size_t cell, CellPlace place, std::size_t d) const {
    const std::size_t stride = strides[d], wide = strides[(d + 1) % 3], high = strides[(d + 2) % 3];
    SideCouplings found;
    for (std::size_t n = 0; n < 3; n++)
      for (std::size_t m = 0; m < 3; m++) {
        found.behind -= row[n * wide + m * high];
        found.ahead -= row[n * wide + m * high + 2 * stride];
      }
    // Behind the last cell of odd many in a periodic direction there is one alone, which is on two sides of others.
    const bool is_cut = at[d] == 0 && fine_.cells[d] % 2 != 0;
    if (place == first_of_pair && !is_cut)
      found.meets_behind = meets(row, at, d, -1) && holds_on(row, cell, middle - stride, found.behind);
    if (place == second_of_pair) found.meets_ahead = meets(row, at, d, 1) && holds_on(row, cell, middle + stride, found.ahead);
    return found;
  }
  /// Of couplings across edges that of the face may be 0, as of finite elements of cubes.
  bool meets(const double* row, const Extents& at, std::size_t d, int by) const {
    if (!fine_.has_edges) return row[i64(middle) + by * i64(strides[d])] != 0;
    Extents to = at;
    to[d] = step_from(at[d], by, fine_.cells[d]);
    return fine_.takes_part[std::size_t(row_of(fine_.cells, to))] != 0;
  }

  /// Whether a cell's couplings with the aggregate across a side are a good part of `all` that it has on that side. Where they
  /// are not, those across edges and corners are of its own phase, and that aggregate is of another one: what the cell took of
  /// it would pull it away from cells that it is coupled with strongly.
  bool holds_on(const double* row, std::size_t cell, std::size_t aggregate, double all) const {
    if (!fine_.has_edges) return true;
    double there = 0;
    for (u32 left = in_slot_[cell][aggregate]; left != 0; left &= left - 1) there -= row[std::countr_zero(left)];
    return there > least_there * all;
  }

  /// Of what a cell's row adds up to, what the next level holds; and what P takes for it (cell_weights.hpp). The rest is taken
  /// out of what is to be given.
  double held(const double* row, const Extents& at, std::size_t cell, CellWeights& weights,
              UnpairedCouplings::Row& unpaired) const {
    double excess = 0;
    for (std::size_t n = 0; n < slots; n++) excess += row[n];
    // Beside nodes that are held, and not their neighbours, elements leave less than nothing, and halves would leave too
    // little.
    if (unpaired_.are_there()) excess = std::max(excess, 0.0);
    const CellPlace places_of[] = {CellPlace(cell % 3), CellPlace(cell / 3 % 3), CellPlace(cell / 9)};
    SideCouplings couplings[3];
    for (std::size_t d = 0; d < 3; d++) couplings[d] = couplings_of(row, at, cell, places_of[d], d);
    if (!fine_.has_edges) return held_by(excess, couplings, places_of, weights);
    const double held = held_by(excess, couplings, places_of, weights, most_walls_of_edges);
    if (held < excess && unpaired_.are_there()) take_walls(row, 1 - held / excess, unpaired);
    return held;
  }
  void take_walls(const double* row, double part, UnpairedCouplings::Row& unpaired) const {
    UnpairedCouplings::Row sums{};
    for (std::size_t neighbour = 0; neighbour < slots; neighbour++) sums[unpaired_.step(neighbour)] += row[neighbour];
    for (std::size_t step = 0; step < sums.size(); step++) unpaired[step] -= part * std::max(sums[step], 0.0);
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
  UnpairedCouplings& unpaired_;
  GridNeighbours neighbours_;
  std::array<double, slots> shares_;                           // that count of what crosses
  std::array<std::array<std::uint8_t, slots>, places> slots_;  // by the cell's places in its aggregate, and its neighbour
  std::array<std::array<u32, slots>, places> in_slot_{};       // the neighbours that are there, a bit each
  std::array<u32, places> reached_{};                          // and all slots that they are, likewise
  bool has_two_ = false;                                       // aggregates in a direction
};

/// Calls act(aggregates, row) for all rows of the coarse matrix.
template <class Act>
void for_coarse_rows(const CsrView& A, const GridLevel& fine, const GridLevel& coarse, UnpairedCouplings& unpaired,
                     const Act& act) {
  for_parts(
      0, coarse.partition.n,
      [&](i64 begin, i64 end) {
        Aggregates aggregates(A, fine, coarse.cells, unpaired);
        for (i64 row = begin; row < end; row++) act(aggregates, row);
      },
      least_rows);
}

/// Rows that are begun, and not yet filled.
LargeCsr begun(const CsrView& A, const GridLevel& fine, const GridLevel& coarse, UnpairedCouplings& unpaired) {
  LargeCsr to{coarse.partition.n, LargeArray<i64>(std::size_t(coarse.partition.n) + 1)};
  for_coarse_rows(A, fine, coarse, unpaired, [&](Aggregates& aggregates, i64 row) {
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

/// The one of a cell's two neighbours in a direction that is not in its aggregate.
i64 behind_side(const GridLevel& fine, std::size_t d, i64 at) { return step_from(at, at % 2 != 0 ? 1 : -1, fine.cells[d]); }

/// What each aggregate takes from cells behind its own: what those take from it.
void find_restriction(const GridLevel& fine, GridLevel& coarse) {
  const i64 nx = fine.cells[0], ny = fine.cells[1];
  const CellWeights* const from = coarse.from_this.data();
  const auto line_at = [&](i64 y, i64 z) { return from + nx * (y + ny * z); };
  const auto of_line = [&](i64 y, i64 z, CellWeights* to) {
    const CellWeights* const here = line_at(y, z);
    const CellWeights* const in_y = fine.step[1] == 1 ? here : line_at(behind_side(fine, 1, y), z);
    const CellWeights* const in_z = fine.step[2] == 1 ? here : line_at(y, behind_side(fine, 2, z));
    for (i64 x = 0; x < nx; x++) {
      const i64 in_x = fine.step[0] == 1 ? x : behind_side(fine, 0, x);
      to[x] = {here[x].own, {here[in_x].across[0], in_y[x].across[1], in_z[x].across[2]}};
    }
  };
  for_parts(
      0, ny * fine.cells[2],
      [&](i64 begin, i64 end) {
        for (i64 line = begin; line < end; line++) of_line(line % ny, line / ny, coarse.to_this.data() + nx * line);
      },
      std::max<i64>(1, least_rows / nx));
}

void coarsen_any(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  const bool is_new = coarse.A.n == 0;
  UnpairedCouplings unpaired(fine, coarse);
  if (is_new) coarse.A = begun(A, fine, coarse, unpaired);
  for_coarse_rows(A, fine, coarse, unpaired, [&](Aggregates& aggregates, i64 row) {
    i64 next = coarse.A.indptr[std::size_t(row)];
    for (const auto& [column, value] : SortedEntries(aggregates.values(row, coarse.from_this.data()), coarse.cells, row)) {
      if (is_new) coarse.A.indices[std::size_t(next)] = column;
      coarse.A.values[std::size_t(next++)] = value;
    }
  });
  if (unpaired.are_there()) unpaired.add_to(coarse.A);
  if (is_new) coarse.diagonals = diagonals_of_level(coarse.A.view());
}

}  // namespace

Diagonals diagonals_of_level(const CsrView& A) {
  const i64 count = i64(find_diagonals(A).offsets.size());
  return count == 0 || 12 * A.nnz() < 8 * count * A.n ? Diagonals{} : diagonals_of(A, "dia");
}

void coarsen(const CsrView& A, const GridLevel& fine, GridLevel& coarse) {
  if (coarse.A.n == 0) {
    coarse.from_this = LargeArray<CellWeights>(std::size_t(A.n));
    coarse.to_this = LargeArray<CellWeights>(std::size_t(A.n));
  }
  coarse.is_cross = fine.is_cross;
  coarse.has_edges = fine.has_edges;
  if (fine.is_cross)
    coarsen_cross(A, fine, coarse);
  else
    coarsen_any(A, fine, coarse);
  find_restriction(fine, coarse);
}

}  // namespace sordino
