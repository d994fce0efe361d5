// GridMaker for any place whose memory arrays lie in, and that runs functors there:
//   bool holds(const double*)                whether an array can be read there as it is
//   Arena& arena()                           of its memory, which is kept as long as the place
//   void each(name, count, functor)          functor(i) for all i
//   GridFacts sum(name, count, functor)      of functor(i)
//   void put(T* to, const T* from, count)    from anywhere to there
//   void fetch(T* to, const T* from, count)  to the host
//   void into(to, count, act)                act(array): what it writes to [count] doubles there lies at `to`, wherever that is
//   void wait()
//   Held hold()                              while it lives no other thread is at work there
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "sordino/base/arena.hpp"
#include "sordino/precond/grid_maker.hpp"
#include "sordino/precond/grid_steps.hpp"

namespace sordino {

template <class Place>
class GridMakerOn final : public GridMaker {
 public:
  template <class... Arguments>
  explicit GridMakerOn(Arguments... arguments) : place_(arguments...) {}

  bool reads(const double* array) const override { return place_.holds(array); }
  GridMatrix taken(const GridMatrix& A) override {
    const auto held = place_.hold();
    place_.arena().expect(bytes_to_take(A));
    GridMatrix here = A;
    here.diagonal = taken(A.diagonal, A.n());
    for (std::size_t d = 0; d < 3; d++) here.ahead[d] = A.cells[d] > 1 ? taken(A.ahead[d], A.n()) : nullptr;
    place_.wait();
    return here;
  }
  void expect(const std::vector<Extents>& levels) override {
    i64 bytes = 0;
    for (std::size_t l = 0; l < levels.size(); l++) {
      bytes += of<double>(cells_in(levels[l]));  // the inverse diagonal
      if (l == 0) continue;
      bytes += (1 + directions(levels[l])) * of<double>(cells_in(levels[l])) + 2 * of<CellWeights>(cells_in(levels[l - 1]));
    }
    const auto held = place_.hold();
    place_.arena().expect(bytes);
  }
  i64 pieces() const override { return place_.arena().pieces(); }
  GridFacts facts(const GridMatrix& A, i64 first, i64 rows) override {
    const auto held = place_.hold();
    return place_.sum("look_at_rows", rows, grid_kernels::LookAtRow{grid_kernels::GridRows(A), first});
  }
  std::array<double, 3> strengths(const GridMatrix& A) override {
    const auto held = place_.hold();
    const i64 count = looked_at(A.n());
    double* const parts = array<double>(3 * count);
    place_.each("find_strengths", count, grid_kernels::FindStrengths{grid_kernels::GridRows(A), rows_apart(A.n()), parts});
    std::vector<double> here(std::size_t(3 * count));
    place_.fetch(here.data(), parts, 3 * count);
    std::array<double, 3> sums{};
    for (std::size_t k = 0; k < here.size(); k++) sums[k % 3] += here[k];
    return sums;
  }
  MadeLevel first(const GridMatrix& A) override {
    const auto held = place_.hold();
    MadeLevel level{.A = A, .inverse_diagonal = inverted(A)};
    place_.wait();
    return level;
  }
  MadeLevel next(const MadeLevel& fine, const Extents& step, const Extents& cells) override {
    const auto held = place_.hold();
    const i64 rows = fine.A.n(), n = cells_in(cells);
    grid_kernels::SumAggregate sum{.fine = grid_kernels::GridRows(fine.A),
                                   .coarse = grid_kernels::Cells(cells),
                                   .step = {i32(step[0]), i32(step[1]), i32(step[2])},
                                   .diagonal = array<double>(n),
                                   .ahead = {},
                                   .from_this = array<CellWeights>(rows)};
    for (std::size_t d = 0; d < 3; d++) sum.ahead[d] = cells[d] > 1 ? array<double>(n) : nullptr;
    place_.each("sum_aggregates", n, sum);
    MadeLevel level{.A = {.cells = cells, .diagonal = sum.diagonal, .ahead = {sum.ahead[0], sum.ahead[1], sum.ahead[2]}}};
    grid_kernels::TakeBehind behind{.fine = grid_kernels::Cells(fine.A.cells),
                                    .step = {sum.step[0], sum.step[1], sum.step[2]},
                                    .from_this = sum.from_this,
                                    .to_this = array<CellWeights>(rows)};
    place_.each("take_behind", rows, behind);
    level.to_this = behind.to_this, level.from_this = sum.from_this;
    level.inverse_diagonal = inverted(level.A);
    place_.wait();
    return level;
  }
  void fetch(double* to, const double* from, i64 count) override {
    const auto held = place_.hold();
    place_.fetch(to, from, count);
  }
  void fill(const GridMatrix& A, const Diagonals& diagonals, i64 first, i64 rows, double* to) override {
    const auto held = place_.hold();
    using grid_kernels::FillPlaces;
    const DiagonalPlaces places(diagonals, rows);
    FillPlaces fill{.A = grid_kernels::GridRows(A),
                    .first = first,
                    .rows = rows,
                    .behind = {},
                    .own = 0,
                    .ahead = {},
                    .symmetric = diagonals.symmetric,
                    .to = nullptr};
    const std::size_t middle = diagonals.offsets.size() / 2;
    fill.own = places.at[middle];
    std::size_t found = 0;  // directions so far, from the nearest diagonals on
    for (std::size_t d = 0; d < 3; d++) {
      fill.behind[d] = fill.ahead[d] = FillPlaces::nowhere;
      if (A.cells[d] == 1) continue;
      found++;
      fill.behind[d] = places.at[middle - found], fill.ahead[d] = places.at[middle + found];
    }
    place_.into(to, places.stored, [&](double* array) {
      fill.to = array;
      place_.each("fill_places", rows, fill);
    });
  }

 private:
  static i64 cells_in(const Extents& cells) { return cells[0] * cells[1] * cells[2]; }
  static i64 directions(const Extents& cells) {
    return std::count_if(cells.begin(), cells.end(), [](i64 n) { return n > 1; });
  }
  static i64 looked_at(i64 n) { return (n + rows_apart(n) - 1) / rows_apart(n); }  // rows, for strengths
  template <class T>
  static i64 of(i64 count) {
    return Arena::padded(count * i64(sizeof(T)));
  }
  template <class T>
  T* array(i64 count) {
    return reinterpret_cast<T*>(place_.arena().give(count * i64(sizeof(T))));
  }
  /// Of copies, and of strengths, which are all that is to be made before levels are known.
  i64 bytes_to_take(const GridMatrix& A) const {
    i64 bytes = of<double>(3 * looked_at(A.n())) + (place_.holds(A.diagonal) ? 0 : of<double>(A.n()));
    for (std::size_t d = 0; d < 3; d++)
      if (A.cells[d] > 1 && !place_.holds(A.ahead[d])) bytes += of<double>(A.n());
    return bytes;
  }
  const double* taken(const double* given, i64 n) {
    if (place_.holds(given)) return given;
    double* const copy = array<double>(n);
    place_.put(copy, given, n);
    return copy;
  }
  const double* inverted(const GridMatrix& A) {
    double* const inverse = array<double>(A.n());
    place_.each("invert_diagonal", A.n(), grid_kernels::InvertDiagonal{A.diagonal, inverse});
    return inverse;
  }

  Place place_;
};

}  // namespace sordino
