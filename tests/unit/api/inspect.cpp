#include "sordino/api/inspect.hpp"
#include "sordino/api/symmetry.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

TEST("symmetry is seen to rounding, in values and in pattern") {
  NOTE(fresh::said());
  fresh::Random random(70);
  for (i64 n : {1, 2, 30, 400}) {
    CsrMatrix A = matrices::spd(random, n, 3, n);
    CHECK(is_symmetric(A.view()));
    if (n < 30) continue;
    auto r = matrices::rows(A);
    i32 i = i32(random.whole(0, n - 1));
    auto off = std::find_if(r[std::size_t(i)].begin(), r[std::size_t(i)].end(),
                            [&](auto& e) { return e.first != i && e.second != 0; });
    if (off == r[std::size_t(i)].end()) continue;
    off->second *= 1 + 1e-15;
    CHECK(is_symmetric(matrices::csr(r).view()));
    off->second *= 1 + 1e-9;
    CHECK(!is_symmetric(matrices::csr(r).view()));
    r[std::size_t(i)].erase(off);
    CHECK(!is_symmetric(matrices::csr(r).view()));
  }
}

TEST("a zero or missing diagonal entry is found") {
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{1, 2.0}}, {{2, -1.0}}});
  CHECK(zero_diagonal(A.view()) == -1);
  CHECK(!positive_diagonal(A.view()));
  A.values[2] = 1;
  CHECK(positive_diagonal(A.view()));
  A.values[1] = 0;
  CHECK(zero_diagonal(A.view()) == 1);
  CHECK(!positive_diagonal(A.view()));
  CsrMatrix B = matrices::csr({{{0, 1.0}}, {{0, 2.0}}});
  CHECK(zero_diagonal(B.view()) == 1);
}

TEST("what is asked for is taken, and auto looks at the matrix") {
  CsrMatrix spd = poisson(3, 3, 3, 7, 1), general = matrices::csr({{{0, 1.0}, {1, 2.0}}, {{1, 1.0}}}),
            hollow = matrices::csr({{{1, 1.0}}, {{0, 1.0}}});
  auto chosen = [](const CsrMatrix& A, const char* asked) {
    Options o;
    o.solver = asked;
    return choose_method({.A = A.view()}, o).method->name;
  };
  CHECK(chosen(spd, "auto") == "cg");
  CHECK(chosen(general, "auto") == "bicgstab");
  CHECK(chosen(hollow, "auto") == "bicgstab");
  CHECK(chosen(general, "cg") == "cg");
  CHECK(choose_preconditioner(spd.view(), "auto") == "jacobi");
  CHECK(choose_preconditioner(hollow.view(), "auto") == "none");
  CHECK(choose_preconditioner(hollow.view(), "none") == "none");
  CHECK_THROWS(choose_preconditioner(hollow.view(), "jacobi"), Error,
               "jacobi needs a nonzero diagonal, and that of row 0 is zero");
}
