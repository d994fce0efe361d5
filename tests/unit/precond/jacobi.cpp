#include "sordino/precond/jacobi.hpp"

#include "check.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

std::vector<double> inverse_diagonal(const CsrView& A, int ranks, const CsrView* updated = nullptr) {
  std::vector<double> d(std::size_t(A.n));
  host::HostEngine engine({.ranks = ranks});
  Partition p = balance(A, ranks);
  engine.run(
      [&](Rank& s) {
        int space = s.add_space(distributed_space(p, s.id()));
        Jacobi M(s, A, space);
        if (updated) M.update_values(s, *updated);
        s.read(M.diagonal(), d.data() + p.first_row(s.id()));
      },
      {});
  return d;
}

}  // namespace

TEST("Jacobi holds the reciprocals of the diagonal, and takes new ones") {
  NOTE(fresh::said());
  fresh::Random random(60);
  CsrMatrix A = matrices::nonsymmetric(random, 300, 3, 40), B = A;
  for (double& v : B.values) v *= 3;
  for (int ranks : {1, 2, 3}) {
    auto d = inverse_diagonal(A.view(), ranks), e = inverse_diagonal(A.view(), ranks, &(const CsrView&)B.view());
    auto r = matrices::rows(A), q = matrices::rows(B);
    for (std::size_t i = 0; i < 300; i++) {
      CHECK(d[i] == 1 / r[i][i32(i)]);
      CHECK(e[i] == 1 / q[i][i32(i)]);
    }
  }
}

TEST("a zero or missing diagonal entry is refused, with its row") {
  CsrMatrix zero = matrices::csr({{{0, 1.0}}, {{0, 1.0}, {1, 0.0}}, {{2, 1.0}}});
  CsrMatrix missing = matrices::csr({{{0, 1.0}}, {{1, 1.0}}, {{0, 1.0}}});
  for (int ranks : {1, 3}) {
    CHECK_THROWS(inverse_diagonal(zero.view(), ranks), Error, "Jacobi: the diagonal of row 1 is zero");
    CHECK_THROWS(inverse_diagonal(missing.view(), ranks), Error, "Jacobi: the diagonal of row 2 is zero");
  }
}

TEST("the identity has no diagonal to read") { CHECK(Identity().diagonal().id == -1); }
