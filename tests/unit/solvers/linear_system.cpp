#include "sordino/solvers/linear_system.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/sqrt_jacobi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

TEST("a scaled system has both norms of a residual, by its product and by a vector that a loop has at hand") {
  NOTE(fresh::said());
  fresh::Random random(72);
  CsrMatrix A = poisson(5, 6, 7, 7, 100);
  auto b = random.normals(A.n), x = random.normals(A.n), r = random.normals(A.n);
  ScaledMatrix scaled(A.view());
  const double wanted = matrices::exact_residual(A.view(), b, x);
  std::vector<double> unscaled = r;
  for (std::size_t i = 0; i < r.size(); i++) unscaled[i] /= scaled.factors()[i];
  std::vector<double> dx = x;
  for (std::size_t i = 0; i < dx.size(); i++) dx[i] /= scaled.factors()[i] * scaled.factors()[i];
  for (int ranks : {1, 3}) {
    NOTE("ranks = ", ranks);
    host::HostEngine engine({.ranks = ranks});
    Partition p = balance(A.view(), ranks);
    std::vector<double> handed_out(x.size());
    engine.run([&](Rank& s) {
      CsrOperator by(s, scaled.view(), p);
      SqrtJacobi M(s, by.space(), scaled);
      LinearSystem system(s, by, M.scaling(), {});
      Vec at_hand = s.vector("r", by.space());
      const i64 row = p.first_row(s.id());
      system.record_look(at_hand);
      CHECK_THROWS(system.record_look({}), Error, "does not name its residual");
      {
        Rehearsal rehearsal(s);
        system.rehearse_look(rehearsal, at_hand);
      }
      system.take_b(b.data() + row);
      CHECK_NEAR(system.b_norm(), matrices::norm(b), 1e-13 * matrices::norm(b));
      system.start_from(x.data() + row);
      CHECK_NEAR(system.residual(), wanted, 1e-12 * wanted);
      CHECK_NEAR(system.unsure(), 4 * 0x1p-53 * matrices::norm(dx), 1e-12 * system.unsure());
      CHECK_NEAR(system.in_loop(wanted) * system.ratio(), wanted, 1e-12 * wanted);
      CHECK(system.sufficient(wanted) <= system.in_loop(wanted));
      s.write(at_hand, r.data() + row);
      CHECK_NEAR(system.look(at_hand), matrices::norm(unscaled), 1e-12 * matrices::norm(unscaled));
      CHECK_NEAR(system.in_loop(system.look(at_hand)), matrices::norm(r), 1e-12 * matrices::norm(r));
      system.hand_out(x.data() + row, true);
      s.read(system.x, handed_out.data() + row);
    });
    for (std::size_t i = 0; i < x.size(); i++) CHECK_NEAR(handed_out[i], x[i], 1e-15 * std::abs(x[i]));
  }
}
