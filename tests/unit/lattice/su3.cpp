// Links: unitary, of determinant 1, the same field on every decomposition; spinors: the projection against the gamma matrices.
#include "sordino/lattice/su3.hpp"

#include "check.hpp"
#include "fields.hpp"

using namespace fields;

namespace {

double distance(const Su3<double>& A, const Su3<double>& B) {
  double most = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) most = std::max(most, std::hypot(A.e[i][j].re - B.e[i][j].re, A.e[i][j].im - B.e[i][j].im));
  return most;
}

/// (1 + sign gamma_mu) psi with the full matrix.
Spinor<double> with_gamma(int mu, int sign, const Spinor<double>& psi) {
  Spinor<double> out = psi;
  for (int s = 0; s < 4; s++)
    for (int r = 0; r < 4; r++)
      for (int a = 0; a < 3; a++) {
        Number g = WilsonReference::gamma(mu)[s][r] * (long double)sign;
        out.s[s].c[a] = out.s[s].c[a] + Complex<double>{double(g.real()), double(g.imag())} * psi.s[r].c[a];
      }
  return out;
}

double distance(const Spinor<double>& a, const Spinor<double>& b) {
  double most = 0;
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++)
      most = std::max(most, std::hypot(a.s[s].c[c].re - b.s[s].c[c].re, a.s[s].c[c].im - b.s[s].c[c].im));
  return most;
}

template <int mu, int sign>
void check_projection(const Spinor<double>& psi) {
  NOTE("mu = ", mu, ", sign = ", sign);
  Spinor<double> sum;
  reconstruct<mu, sign>(project<mu, sign>(psi), sum);
  CHECK_NEAR(distance(sum, with_gamma(mu, sign, psi)), 0, 1e-15);
}

template <int... mu>
void check_projections(const Spinor<double>& psi, std::integer_sequence<int, mu...>) {
  (check_projection<mu, 1>(psi), ...);
  (check_projection<mu, -1>(psi), ...);
}

}  // namespace

TEST("links are unitary, and their third row follows from the others") {
  NOTE(fresh::said());
  Lattice lattice{{4, 6, 2, 8}};
  for (auto& [name, links] : kinds(lattice, fresh::seed()))
    for (int mu = 0; mu < 4; mu++)
      for (Coords x : {Coords{0, 0, 0, 0}, Coords{3, 5, 1, 7}, Coords{1, 2, 0, 3}}) {
        NOTE(name, ", mu = ", mu);
        auto U = links(x, mu), V = U;
        CHECK_NEAR(distance(U * adjoint(U), identity<double>()), 0, 2e-15);
        V.e[2][0] = V.e[2][1] = V.e[2][2] = {};
        complete_rows(V, 1.0);
        CHECK_NEAR(distance(U, V), 0, 2e-15);

        for (auto& row : V.e)  // a link on the antiperiodic boundary
          for (auto& z : row) z = z * -1.0;
        auto W = V;
        complete_rows(W, -1.0);
        CHECK_NEAR(distance(V, W), 0, 2e-15);
      }
}

TEST("random links average to nothing, warm ones stay near 1, and no two are alike") {
  NOTE(fresh::said());
  Lattice lattice{{8, 8, 8, 8}};
  auto random = random_links(lattice, fresh::seed()), warm = warm_links(lattice, fresh::seed(), 0.1);
  Complex<double> mean, entry;
  double far = 0, square = 0;
  i64 n = 0;
  for (i32 x = 0; x < 8; x++)
    for (i32 y = 0; y < 8; y++)
      for (i32 t = 0; t < 8; t++)
        for (int mu = 0; mu < 4; mu++, n++) {
          auto U = random({x, y, 3, t}, mu);
          mean = mean + U.e[0][0] + U.e[1][1] + U.e[2][2];
          entry = entry + U.e[0][1];
          square += U.e[2][1].re * U.e[2][1].re;
          far = std::max(far, distance(warm({x, y, 3, t}, mu), identity<double>()));
        }
  // Of the Haar measure: <tr U> = <U_ij> = 0, <|tr U|^2> = 1, <(Re U_ij)^2> = 1/6.
  double spread = 6 / std::sqrt(double(n));
  CHECK_NEAR(std::hypot(mean.re, mean.im) / double(n), 0, spread);
  CHECK_NEAR(std::hypot(entry.re, entry.im) / double(n), 0, spread);
  CHECK_NEAR(square / double(n), 1.0 / 6, spread / 4);
  CHECK(far > 0.1);
  CHECK(far < 1);
  CHECK(distance(random({0, 0, 0, 0}, 0), random({0, 0, 0, 0}, 1)) > 1e-3);
  CHECK(distance(random({0, 0, 0, 0}, 0), random({1, 0, 0, 0}, 0)) > 1e-3);
  CHECK(distance(random({0, 0, 0, 0}, 0), random_links(lattice, fresh::seed() + 1)({0, 0, 0, 0}, 0)) > 1e-3);
}

TEST("the gamma matrices are Hermitian, anticommute, and multiply to gamma 5") {
  auto& g = WilsonReference::gamma;
  auto product = [&](auto& a, auto& b, int i, int j) {
    Number sum = 0;
    for (int k = 0; k < 4; k++) sum += a[i][k] * b[k][j];
    return sum;
  };
  Number all[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  for (int mu = 0; mu < 4; mu++) {
    Number next[4][4];
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) {
        CHECK(g(mu)[i][j] == std::conj(g(mu)[j][i]));
        for (int nu = 0; nu < 4; nu++)
          CHECK(product(g(mu), g(nu), i, j) + product(g(nu), g(mu), i, j) == Number(mu == nu && i == j ? 2 : 0));
        next[i][j] = product(all, g(mu), i, j);
      }
    std::copy(&next[0][0], &next[0][0] + 16, &all[0][0]);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) CHECK(all[i][j] == g(4)[i][j]);
}

TEST("a projected and reconstructed spinor is one plus or minus gamma times it") {
  NOTE(fresh::said());
  fresh::Random random(60);
  for (int round = 0; round < 10; round++) check_projections(random_spinor(random), std::make_integer_sequence<int, 4>{});
}
