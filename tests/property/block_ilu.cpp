// Laws of precond block-ilu, on random matrices with few diagonals and random tiles.
#include <cmath>

#include "check.hpp"
#include "conformance/problems.hpp"

using namespace problems;

namespace {

/// Symmetric positive definite, with entries at random places of up to thirteen diagonals on each side.
CsrMatrix few_diagonals(fresh::Random& random, i64 n) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  for (i64 d = random.whole(1, 13); d-- > 0;) {
    const i64 offset = random.whole(1, n - 1);
    for (i64 i = 0; i + offset < n; i++)
      if (random.chance(0.8)) rows[std::size_t(i)][i32(i + offset)] = rows[std::size_t(i + offset)][i32(i)] = random.normal();
  }
  return matrices::dominant(random, matrices::csr(rows), 0.05, 1.5);
}

struct Grid {
  i64 x, y, z;
  i64 cells() const { return x * y * z; }
};
std::string text(i64 x, i64 y, i64 z) { return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z); }

}  // namespace

TEST("block-ilu: whatever the tiles, it converges to a verified residual, with the bits of one rank") {
  NOTE(fresh::said());
  fresh::Random random(530);
  for (const char* method : {"cg", "gropp", "bicgstab"})
    for (int round = 0; round < 12; round++) {
      Grid g{random.whole(1, 12), random.whole(1, 12), random.whole(4, 12)};
      CsrMatrix A = few_diagonals(random, g.cells());
      auto b = random.normals(A.n);
      Options o = options(method, "host", 1);
      o.precond = "block-ilu";
      o.grid = text(g.x, g.y, g.z);
      o.tile = text(random.whole(1, g.x), random.whole(1, g.y), random.whole(1, (g.z - 1) / 3));
      NOTE(method, ", grid ", o.grid, ", tile ", o.tile);
      auto one = solve(A.view(), b, o);
      CHECK(one.report.status == Status::converged);
      CHECK(matrices::exact_residual(A.view(), b, one.x) <= o.rtol * matrices::norm(b) * (1 + 1e-10));
      o.ranks = int(random.whole(2, 4));
      o.engine = round % 2 ? "model" : "host";
      CHECK(same_bits(solve(A.view(), b, o).x, one.x));
    }
}

TEST("block-ilu: scaling A or b by powers of two scales x, to the last bit") {
  NOTE(fresh::said());
  fresh::Random random(531);
  for (const char* method : {"cg", "gropp", "bicgstab"}) {
    CsrMatrix A = few_diagonals(random, random.whole(50, 400)), B = A;
    auto b = random.normals(A.n);
    Options o = options(method, "host", 2);
    o.precond = "block-ilu";
    auto x = solve(A.view(), b, o).x;
    for (int k : {-41, 3, 30}) {
      NOTE(method, ", n = ", A.n, ", 2^", k);
      for (std::size_t i = 0; i < A.values.size(); i++) B.values[i] = std::ldexp(A.values[i], k);
      auto y = solve(B.view(), b, o).x;
      for (double& v : y) v = std::ldexp(v, k);
      CHECK(same_bits(y, x));
    }
  }
}
