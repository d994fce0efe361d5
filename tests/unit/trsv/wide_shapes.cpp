// What passes of 16 and 32 columns go by on GPUs: slices of strips, shares of their rows, and which numbers lanes have. Tensor
// cores are imitated here as PTX describes them.
#include "sordino/trsv/cuda/wide_shapes.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "check.hpp"
#include "unit/fresh.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

Block some_block(fresh::Random& random) {
  const i32 width = i32(random.chance(0.3) ? 256 : random.whole(1, random.chance(0.1) ? 600 : 256));
  return {.column = i32(random.whole(0, 1000)),
          .width = width,
          .front = width + i32(random.whole(0, random.chance(0.3) ? 10 : 1000)),
          .strip_rows = rows_of_strips(width)};
}

/// A warp's 16 x 4 times 4 x 8, added to what its lanes have of 16 x 8.
void multiply_add(double (&d)[32][4], const double (&a)[32][2], const double (&b)[32]) {
  double A[16][4], B[4][8];
  for (int lane = 0; lane < 32; lane++) {
    A[lane >> 2][lane & 3] = a[lane][0], A[(lane >> 2) + 8][lane & 3] = a[lane][1];
    B[lane & 3][lane >> 2] = b[lane];
  }
  for (int lane = 0; lane < 32; lane++)
    for (int c = 0; c < 4; c++)
      for (int k = 0; k < 4; k++)
        d[lane][c] = std::fma(A[(lane >> 2) + 8 * (c / 2)][k], B[k][2 * (lane & 3) + c % 2], d[lane][c]);
}

/// In the order of a pass of eight: four chains of four columns each, the rest to the first one.
double sum_in_order(const std::vector<double>& values, const Strip& s, int row, const std::vector<double>& operand, int P,
                    int r) {
  double sums[4] = {};
  for (i32 j = 0; j < s.columns; j++) {
    double& sum = sums[j < s.columns / 16 * 16 ? j / 4 % 4 : 0];
    sum = std::fma(values[std::size_t(i64(j) * s.lead + row)], operand[std::size_t(j * P + r)], sum);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// One warp's tiles of a strip, slice by slice: take(row of its share, column of b, sum).
template <class T, class Take>
void multiply_as_a_warp(const std::vector<double>& values, const Strip& s, const ShareOfRows& mine,
                        const std::vector<double>& operand, int P, int first_column, i32 block_column, const Take& take) {
  std::vector<std::array<double[32][4], 4>> sums(T::count);
  const Slices slices(s, P);
  for (i32 k = 0; k < slices.count; k++) {
    const i32 first = slices.first(k), columns = slices.first(k + 1) - first;
    auto add = [&](int chain, i32 j) {
      for (int tile = 0; tile < T::count; tile++) {
        double a[32][2] = {}, b[32] = {};
        for (int lane = 0; lane < 32; lane++) {
          if (j + ProductLane(lane).member >= columns) continue;
          const i64 of_b = i64(first + j) * P + operand_of_lane(P, column_of_lane(first_column, lane), block_column, lane);
          a[lane][0] = operand[std::size_t(of_b)], a[lane][1] = operand[std::size_t(of_b) + 1];
          const std::size_t value = std::size_t(i64(first + j) * s.lead + mine.first + values_of_lane(s, lane) +
                                                T::row(tile, ProductLane(lane).group));
          b[lane] = value < values.size() ? values[value] : NAN;  // of a row that there is not
        }
        multiply_add(sums[tile][chain], a, b);
      }
    };
    i32 j = 0;
    for (; j + 16 <= columns; j += 16)
      for (int c = 0; c < 4; c++) add(c, j + 4 * c);
    for (; j < columns; j += 4) add(0, j);
  }
  for (int tile = 0; tile < T::count; tile++)
    for (int lane = 0; lane < 32; lane++)
      for (int c = 0; c < 2; c++)
        for (int q = 0; q < 2; q++) {
          auto of = [&](int chain) { return sums[tile][chain][lane][2 * c + q]; };
          take(row_of_sum<T>(tile, lane, q), column_of_lane(first_column, lane) + c, (of(0) + of(1)) + (of(2) + of(3)));
        }
}

/// All warps of a strip with P columns of b: each product once, with the bits of a pass of eight.
void check_strip(const Block& b, i32 strip, int P, fresh::Random& random) {
  const int sixteens = P / columns_of_warp;
  const Strip s = strip_of(b, strip);
  NOTE("width ", b.width, ", front ", b.front, ", strip ", strip, " of ", s.rows, " rows, ", P, " columns of b");
  const std::vector<double> values = random.normals(s.size()), plain = random.normals(i64(s.columns) * P);
  std::vector<double> operand(plain.size());
  for (i32 j = 0; j < s.columns; j++)
    for (int r = 0; r < P; r++) operand[std::size_t(j * P + wide_place(r, b.column + j))] = plain[std::size_t(j * P + r)];
  std::vector<int> written(std::size_t(s.rows * P));
  bool right = true;
  for (int warp = 0; warp < 4; warp++)
    for (i32 begin = 0; begin < s.rows; begin += rows_at_once(P)) {
      const ShareOfRows mine = share_of_rows(s, strip, begin, warp / sixteens, P);
      if (mine.rows <= 0) continue;
      with_tiles(mine.rows, [&](auto kind) {
        multiply_as_a_warp<decltype(kind)>(values, s, mine, operand, P, columns_of_warp * (warp % sixteens), b.column,
                                           [&](int row, int r, double sum) {
                                             if (row >= mine.rows) return;
                                             written[std::size_t((mine.first + row) * P + r)]++;
                                             const double wanted = sum_in_order(values, s, mine.first + row, plain, P, r);
                                             right = right && std::memcmp(&sum, &wanted, sizeof sum) == 0;
                                           });
      });
    }
  CHECK(right);
  CHECK((written == std::vector<int>(written.size(), 1)));
}

}  // namespace

TEST("slices of a task's strips are all of its values, and lie in the ring beside one another") {
  NOTE(fresh::said());
  fresh::Random random(31);
  for (int turn = 0; turn < 2000; turn++) {
    const Block b = some_block(random);
    const int P = random.chance(0.5) ? 16 : 32;
    const i32 first = i32(random.whole(0, b.strips() - 1)), end = i32(random.whole(first + 1, b.strips()));
    NOTE("width ", b.width, ", front ", b.front, ", strips ", first, " to ", end, ", ", P, " columns of b");
    i64 begin = 0;
    u32 number = u32(random.whole(0, 100));
    SliceOfTask at{.strip = first};
    bool follow = true, fit = true;
    for (i32 k = first; k < end; k++) {
      const Strip s = strip_of(b, k);
      const Slices slices(s, P);
      i32 columns = 0, bytes = 0;
      for (i32 q = 0; q < slices.count; q++, number++) {
        follow = follow && at.strip == k && at.slice == q && at.before == begin && slices.first(q) == columns;
        follow = follow && (columns % 16 == 0 || columns == s.columns);
        columns = slices.first(q + 1), bytes += slices.bytes(q);
        const i32 place = slices.place(q, number), behind = place + slices.bytes(q);
        const i32 room = slices.whole ? places_of_ring * bytes_of_place : bytes_of_place * (i32(number % places_of_ring) + 1);
        fit = fit && place % 16 == 0 && slices.bytes(q) % 16 == 0 && behind <= room;
        if (slices.whole) fit = fit && place + slices.bytes(q) <= slices.place_of_sources(number - u32(q));
        if (q == 0) {
          const i32 sources = slices.place_of_sources(number);
          fit = fit && sources % 16 == 0 && sources >= behind && sources + bytes_of_source * s.rows <= room;
        }
        at = at.next(b, P);
      }
      follow = follow && columns == s.columns && bytes == 8 * s.columns * s.lead;
      begin += s.size();
    }
    CHECK(follow);
    CHECK(fit);
  }
}

TEST("warps of a wide pass have each row and column once, and sums the order of a pass of eight") {
  NOTE(fresh::said());
  fresh::Random random(32);
  for (int turn = 0; turn < 60; turn++) {
    const Block b = some_block(random);
    const i32 strip = i32(random.chance(0.4) ? b.strips() - 1 : random.whole(0, b.strips() - 1));
    for (int P : {16, 32}) check_strip(b, strip, P, random);
  }
  for (i32 rows = 1; rows <= 62; rows++)  // whatever the rest
    for (int P : {16, 32}) check_strip({.column = 3, .width = 7, .front = 62 + rows, .strip_rows = 62}, 1, P, random);
}

TEST("eight lanes that read two numbers each at once find them in different banks") {
  for (i32 width : {1, 7, 64, 100, 128, 160, 200, 230, 256}) {
    const Block b{.width = width, .front = 1000, .strip_rows = rows_of_strips(width)};
    const Strip s = strip_of(b, 1);
    NOTE("width ", width, ", ", s.rows, " rows");
    for (int first = 0; first < 32; first += 8) {
      std::set<int> of_values, of_operand;
      for (int lane = first; lane < first + 8; lane++) {
        of_values.insert((values_of_lane(s, lane) + TwoTiles::row(0, ProductLane(lane).group)) / 2 % 8);
        of_operand.insert(operand_of_lane(32, column_of_lane(16, lane), 5, lane) / 2 % 8);
      }
      CHECK(of_values.size() == 8u);
      CHECK(of_operand.size() == 8u);
    }
  }
}
