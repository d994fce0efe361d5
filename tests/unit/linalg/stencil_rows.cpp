// Rows of symmetric stencils whose number of points is known when they are compiled: they have the bits of rows that look it
// up.
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

}  // namespace

TEST("rows of stencils with 7 and 27 points have the bits of rows by diagonals, inside and at a slice's ends") {
  NOTE(fresh::said());
  fresh::Random random(4100);
  for (int points : {7, 27})
    for (bool unit : {false, true})
      for (i32 layers : {1, 2, 3, 7}) {
        NOTE(points, " points, ", layers, unit ? " layers, unit diagonal" : " layers");
        const i32 nx = 5, ny = 4;
        Slice slice(random, offsets_above(points, nx, ny), nx * ny * layers, unit);
        const DiaRows rows = slice.rows();
        i32 compared = 0;
        auto compare = [&](const auto& best) {
          if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(best)>, DiaRows>)
            for (i32 i = 0; i < slice.own; i++, compared++) CHECK(best.sum(i, 0, 1) == rows.sum(i, 0, 1));
        };
        std::visit(compare, by_points(rows, slice.diagonals.data()));
        CHECK(compared == slice.own);
      }
}

TEST("rows of other stencils, and of stencils that are not symmetric, look their diagonals up") {
  NOTE(fresh::said());
  fresh::Random random(4101);
  auto is_general = [](const DiaRows& rows, const Slice& slice) {
    return std::holds_alternative<DiaRows>(by_points(rows, slice.diagonals.data()));
  };
  Slice five(random, {1, 6}, 24, false), seven(random, {1, 4, 16}, 64, false);
  CHECK(is_general(five.rows(), five));
  CHECK(!is_general(seven.rows(), seven));
  DiaRows streamed = seven.rows();
  streamed.entries.twice = false;
  CHECK(is_general(streamed, seven));
}
