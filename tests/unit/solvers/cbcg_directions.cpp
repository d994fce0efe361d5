// Directions of cbcg: row by row, as a GPU computes them, they have the bits of blocks of rows.
#include "check.hpp"
#include "sordino/solvers/cbcg.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

struct Vectors {
  std::vector<std::vector<double>> of;  // Q_0 .. Q_(s-1), and A Q_0 ..

  cbcg::Directions directions(int s, const std::vector<double>& B, const Vectors& basis) {
    cbcg::Directions d{};
    d.s = s;
    d.rows = double(of[0].size());
    d.B.p = B.data();
    for (int k = 0; k < s; k++) {
      d.S[k].p = basis.of[std::size_t(k)].data();
      d.AS[k].p = basis.of[std::size_t(s + k)].data();
      d.Q[k].p = of[std::size_t(k)].data();
      d.AQ[k].p = of[std::size_t(s + k)].data();
    }
    return d;
  }
};

Vectors vectors(fresh::Random& random, int count, i32 rows) {
  Vectors v;
  for (int k = 0; k < count; k++) v.of.push_back(random.normals(rows));
  return v;
}

}  // namespace

TEST("directions of any s have the same bits row by row and in blocks, and are S - Q B") {
  NOTE(fresh::said());
  fresh::Random random(2800);
  const i32 rows = 2 * cbcg::cpu_rows + 3;
  for (int s = 1; s <= gram::most_s; s++) {
    NOTE("s = ", s);
    const std::vector<double> B = random.normals(s * s);
    Vectors basis = vectors(random, 2 * s, rows), before = vectors(random, 2 * s, rows), by_rows = before, in_blocks = before;
    auto one = by_rows.directions(s, B, basis);
    for (i32 i = 0; i < rows; i++) one.row(i);
    in_blocks.directions(s, B, basis).block(0, rows);
    CHECK(by_rows.of == in_blocks.of);

    double most = 0;  // of the difference to long double sums
    for (int half : {0, s})
      for (int k = 0; k < s; k++)
        for (i32 i = 0; i < rows; i++) {
          long double sum = basis.of[std::size_t(half + k)][std::size_t(i)];
          for (int j = 0; j < s; j++)
            sum -= (long double)before.of[std::size_t(half + j)][std::size_t(i)] * B[std::size_t(j * s + k)];
          most = std::max(most, std::abs(double(sum - by_rows.of[std::size_t(half + k)][std::size_t(i)])));
        }
    CHECK(most < 1e-13);
  }
}
