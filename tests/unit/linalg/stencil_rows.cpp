// Rows of stencils whose number of points is known when they are compiled: they have the bits of rows that look it up.
#include "sordino/linalg/stencil_rows.hpp"

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// A slice of a box's rows with other ranks' on both sides, by diagonals with entries at random, as symmetric matrices have
/// them.
struct Slice {
  i32 own = 0, ghosts = 0;
  std::vector<StoredDiagonal> diagonals;
  std::vector<double> values, x, y;

  Slice(fresh::Random& random, const std::vector<i32>& above, i32 own_rows, bool unit) : own(own_rows) {
    const i32 far = above.back();
    ghosts = 2 * far;
    const std::size_t stored = std::size_t(own + far);  // of a diagonal and its mirror image
    auto below = [&](std::size_t k) { return StoredDiagonal{u32(k * stored), -above[k], own + above[k] - far}; };
    for (std::size_t k = above.size(); k-- > 0;) diagonals.push_back(below(k));
    diagonals.push_back({unit ? StoredDiagonal::unit : u32(above.size() * stored), 0, 0});
    for (std::size_t k = 0; k < above.size(); k++) diagonals.push_back({u32(k * stored) + u32(above[k]), above[k], far});
    values = random.normals(i64(stored * (above.size() + 1)));
    x = random.normals(own + ghosts);
    y.resize(std::size_t(own));
  }
  DiaRows rows() {
    DiaRows r{};
    r.entries = {values.data(), true, i64(values.size())};
    r.diagonals = diagonals.data();
    r.count = i32(diagonals.size());
    r.own = u32(own);
    r.last = u32(own + ghosts - 1);
    r.x.p = x.data();
    r.y.p = y.data();
    return r;
  }
};

std::vector<i32> offsets_above(int points, i32 nx, i32 ny) {
  if (points == 7) return {1, nx, nx * ny};
  std::vector<i32> above = {1};
  for (i32 x = -1; x <= 1; x++) above.push_back(nx + x);
  for (i32 y = -1; y <= 1; y++)
    for (i32 x = -1; x <= 1; x++) above.push_back(nx * ny + nx * y + x);
  return above;
}

/// The same box, each row of one of a few kinds, as matrices with constant coefficients have them.
struct Kinds {
  Slice slice;
  std::vector<double> values;
  std::vector<std::uint8_t> kinds;

  Kinds(fresh::Random& random, const std::vector<i32>& above, i32 own_rows) : slice(random, above, own_rows, false) {
    const i64 most = 9, count = i64(slice.diagonals.size());
    for (i64 d = 0; d < count; d++) slice.diagonals[std::size_t(d)].at = u32(d);
    values = random.normals(most * count);
    for (i32 i = 0; i < own_rows; i++) kinds.push_back(std::uint8_t(random.whole(0, most - 1)));
  }
  ConstantRows rows() {
    const DiaRows of_slice = slice.rows();
    ConstantRows r{};
    r.entries = {values.data(), kinds.data(), i64(kinds.size())};
    r.diagonals = of_slice.diagonals;
    r.count = of_slice.count;
    r.own = of_slice.own;
    r.last = of_slice.last;
    r.x = of_slice.x;
    r.y = of_slice.y;
    return r;
  }
};

/// How many rows of `best` have the bits of the same ones of `rows`, alone and as entries that somebody visits.
template <class Best, class Rows>
i32 compare(const Best& best, const Rows& rows, i32 count) {
  if constexpr (std::is_same_v<Best, Rows>)
    return 0;
  else
    for (i32 i = 0; i < count; i++) {
      CHECK(best.sum(i, 0, 1) == rows.sum(i, 0, 1));
      CHECK(product(best, best.x, i, 0, 1) == rows.sum(i, 0, 1));
    }
  return count;
}

}  // namespace

TEST("rows of stencils with 7 and 27 points have the bits of rows by diagonals, inside and at a slice's ends") {
  NOTE(fresh::said());
  fresh::Random random(4100);
  for (int points : {7, 27})
    for (auto [unit, twice] : {std::pair(false, true), {true, true}, {false, false}, {true, false}})
      for (i32 layers : {1, 2, 3, 7}) {
        NOTE(points, " points, ", layers, unit ? " layers, unit diagonal" : " layers");
        const i32 nx = 5, ny = 4;
        Slice slice(random, offsets_above(points, nx, ny), nx * ny * layers, unit);
        DiaRows rows = slice.rows();
        rows.entries.twice = twice;
        auto compared = [&](const auto& best) { return compare(best, rows, slice.own); };
        const bool general = points == 27 && !twice;
        CHECK(std::visit(compared, by_points(rows, slice.diagonals.data())) == (general ? 0 : slice.own));
      }
}

TEST("and so have rows of few kinds") {
  NOTE(fresh::said());
  fresh::Random random(4102);
  for (int points : {7, 27})
    for (i32 layers : {1, 2, 3, 7}) {
      NOTE(points, " points, ", layers, " layers");
      const i32 nx = 5, ny = 4;
      Kinds kinds(random, offsets_above(points, nx, ny), nx * ny * layers);
      const ConstantRows rows = kinds.rows();
      auto compared = [&](const auto& best) { return compare(best, rows, kinds.slice.own); };
      CHECK(std::visit(compared, by_points(rows, kinds.slice.diagonals.data())) == kinds.slice.own);
    }
}

TEST("rows of other stencils look their diagonals up") {
  NOTE(fresh::said());
  fresh::Random random(4101);
  auto is_general = [](const DiaRows& rows, const Slice& slice) {
    return std::holds_alternative<DiaRows>(by_points(rows, slice.diagonals.data()));
  };
  Slice five(random, {1, 6}, 24, false), seven(random, {1, 4, 16}, 64, false);
  CHECK(is_general(five.rows(), five));
  CHECK(!is_general(seven.rows(), seven));
  Kinds few(random, {1, 6}, 24);
  CHECK(std::holds_alternative<ConstantRows>(by_points(few.rows(), few.slice.diagonals.data())));
}

TEST("a unit diagonal that is not the middle one of seven is looked up") {
  NOTE(fresh::said());
  fresh::Random random(3340);
  for (std::size_t place = 0; place < 7; place++) {
    NOTE("the main diagonal is the ", place, ". of seven");
    Slice slice(random, offsets_above(7, 5, 4), 60, false);
    slice.diagonals[place].at = StoredDiagonal::unit;
    DiaRows by_diagonals = slice.rows();
    by_diagonals.entries.twice = false;
    CHECK((by_points(by_diagonals, slice.diagonals.data()).index() == 0) == (place != 3));
    std::visit(
        [&](auto rows) {
          for (i32 i = 0; i < slice.own; i++) CHECK(rows.sum(i, 0, 1) == by_diagonals.sum(i, 0, 1));
        },
        by_points(by_diagonals, slice.diagonals.data()));
  }
}
