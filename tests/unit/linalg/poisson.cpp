#include "sordino/linalg/poisson.hpp"

#include <array>
#include <cmath>

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/large_poisson.hpp"

using namespace sordino;

namespace {

/// Conductivity of a cell, by its integer place; cells outside have 1.
double conductivity(i64 x, i64 y, i64 z, i64 nx, i64 ny, i64 nz, double contrast) {
  double r2 = std::pow((double(x) + 0.5) / double(nx) - 0.5, 2) + std::pow((double(y) + 0.5) / double(ny) - 0.5, 2) +
              std::pow((double(z) + 0.5) / double(nz) - 0.5, 2);
  return std::sqrt(r2) < 0.3 ? contrast : 1;
}

}  // namespace

TEST("the 27-point operator has 26 on its diagonal, and -1 for each neighbour") {
  CsrMatrix A = poisson(4, 3, 5, 27, 1);
  validate(A.view());
  REQUIRE(A.n == 60);
  auto r = matrices::rows(A);
  for (i64 z = 0; z < 5; z++)
    for (i64 y = 0; y < 3; y++)
      for (i64 x = 0; x < 4; x++) {
        i64 row = x + 4 * (y + 3 * z);
        std::map<i32, double> expected;
        for (i64 c = std::max<i64>(z - 1, 0); c <= std::min<i64>(z + 1, 4); c++)
          for (i64 b = std::max<i64>(y - 1, 0); b <= std::min<i64>(y + 1, 2); b++)
            for (i64 a = std::max<i64>(x - 1, 0); a <= std::min<i64>(x + 1, 3); a++) expected[i32(a + 4 * (b + 3 * c))] = -1;
        expected[i32(row)] = 26;
        CHECK(r[std::size_t(row)] == expected);
      }
}

TEST("the 7-point operator has 6 on its diagonal, and -1 for each neighbour across a face") {
  auto r = matrices::rows(poisson(3, 3, 3, 7, 1));
  CHECK(r[13] == (std::map<i32, double>{{4, -1}, {10, -1}, {12, -1}, {13, 6}, {14, -1}, {16, -1}, {22, -1}}));
  CHECK(r[0] == (std::map<i32, double>{{0, 6}, {1, -1}, {3, -1}, {9, -1}}));
}

TEST("a single cell is a matrix of one entry") {
  CHECK(matrices::rows(poisson(1, 1, 1, 7, 1))[0] == (std::map<i32, double>{{0, 6}}));
  CHECK(matrices::rows(poisson(1, 1, 1, 27, 1))[0] == (std::map<i32, double>{{0, 26}}));
}

TEST("with a contrast every face has the harmonic mean of its cells, and Dirichlet faces count on the diagonal") {
  NOTE(fresh::said());
  fresh::Random random(21);
  for (int round = 0; round < 10; round++) {
    i64 nx = random.whole(1, 9), ny = random.whole(1, 9), nz = random.whole(1, 9);
    double contrast = std::pow(10, random.real(-6, 6));
    NOTE(nx, " x ", ny, " x ", nz, ", contrast ", contrast);
    auto k = [&](i64 x, i64 y, i64 z) { return conductivity(x, y, z, nx, ny, nz, contrast); };
    CsrMatrix A = poisson(nx, ny, nz, 7, contrast);
    validate(A.view());
    auto r = matrices::rows(A);
    for (i64 z = 0; z < nz; z++)
      for (i64 y = 0; y < ny; y++)
        for (i64 x = 0; x < nx; x++) {
          auto& row = r[std::size_t(x + nx * (y + ny * z))];
          double sum = 0;
          for (auto [a, b, c] : {std::array<i64, 3>{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}) {
            double mine = k(x, y, z), other = k(x + a, y + b, z + c), face = 2 / (1 / mine + 1 / other);
            sum += face;
            bool inside = x + a >= 0 && x + a < nx && y + b >= 0 && y + b < ny && z + c >= 0 && z + c < nz;
            auto entry = row.find(i32(x + a + nx * (y + b + ny * (z + c))));
            if (inside) {
              REQUIRE(entry != row.end());
              CHECK_NEAR(entry->second, -face, 1e-14 * face);
            }
          }
          CHECK_NEAR(row[i32(x + nx * (y + ny * z))], sum, 1e-14 * sum);
        }
  }
}

TEST("the operator is symmetric to the last bit, and its rows sum to what leaves the box") {
  NOTE(fresh::said());
  fresh::Random random(22);
  for (int stencil : {7, 27})
    for (double contrast : {1.0, 1e-4, 1e5}) {
      i64 nx = random.whole(2, 8), ny = random.whole(2, 8), nz = random.whole(3, 8);
      CsrMatrix A = poisson(nx, ny, nz, stencil, contrast);
      auto r = matrices::rows(A);
      bool symmetric = true;
      for (std::size_t i = 0; i < r.size(); i++) {
        double sum = 0;
        for (auto& [j, v] : r[i]) {
          symmetric &= r[std::size_t(j)].count(i32(i)) && r[std::size_t(j)][i32(i)] == v;
          sum += v;
        }
        i64 x = i64(i) % nx, y = i64(i) / nx % ny, z = i64(i) / nx / ny;
        bool inner = x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1;
        double d = r[i][i32(i)];
        if (inner) CHECK_NEAR(sum, 0.0, 1e-13 * d);
        if (!inner) CHECK(sum > 0);
      }
      CHECK(symmetric);
    }
}

TEST("bad grids are refused") {
  CHECK_THROWS(poisson(0, 1, 1, 7, 1), Error, "at least one cell in each direction");
  CHECK_THROWS(poisson(1, -1, 1, 7, 1), Error, "at least one cell in each direction");
  CHECK_THROWS(poisson(1, 1, 1, 9, 1), Error, "the stencil must be 7 or 27, not 9");
  for (double bad : {0.0, -1.0, double(NAN), double(INFINITY)}) CHECK_THROWS(poisson(2, 2, 2, 7, bad), Error, "contrast");
  CHECK_THROWS(poisson(2000, 2000, 2000, 7, 1), Error, "more than 2^31 cells");
  CHECK_THROWS(poisson(i64(1) << 62, 4, 4, 7, 1), Error, "more than 2^31 cells");
}

TEST("the large matrix is the same") {
  const CsrMatrix A = poisson(40, 33, 31, 7, 1000);
  const LargeCsr B = large_poisson(40, 33, 31, 7, 1000);
  REQUIRE(B.n == A.n);
  CHECK(std::vector<i64>(B.indptr.begin(), B.indptr.end()) == A.indptr);
  CHECK(std::vector<i32>(B.indices.begin(), B.indices.end()) == A.indices);
  CHECK(std::vector<double>(B.values.begin(), B.values.end()) == A.values);
  CHECK_THROWS(large_poisson(4, 4, 4, 9, 1), Error, "the stencil must be 7 or 27, not 9");
}
