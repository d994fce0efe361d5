// What must hold for any Wilson operator: gamma_5-hermiticity, gauge covariance, and the free field's spectrum.
#include "sordino/lattice/reference.hpp"

#include <numbers>

#include "check.hpp"
#include "fields.hpp"

using namespace fields;

namespace {

constexpr long double kappa = 0.13L, tiny = 1e-15L;  // links come in double
const Lattice lattice{{4, 2, 6, 4}, true}, periodic{{4, 2, 6, 4}, false};

/// exp(i p x) times a spinor that does not depend on x.
Field plane_wave(const WilsonReference& M, const long double (&p)[4], const Spinor<double>& chi) {
  Field psi;
  for (i64 site = 0; site < M.lattice().volume(); site++) {
    Coords x = M.coordinates(site);
    long double phase = 0;
    for (int mu = 0; mu < 4; mu++) phase += p[mu] * x[mu];
    for (auto& s : chi.s)
      for (auto& z : s.c) psi.push_back(std::polar(1.0L, phase) * Number(z.re, z.im));
  }
  return psi;
}

}  // namespace

TEST("gamma 5 times the Wilson operator is Hermitian") {
  NOTE(fresh::said());
  for (auto& l : {lattice, periodic})
    for (auto& [name, links] : kinds(l, fresh::seed())) {
      NOTE(name);
      WilsonReference M(l, links);
      Field x = M.field(random_source(l, 1)), y = M.field(random_source(l, 2));
      Number a = inner(x, M.gamma5(M.apply(y, kappa))), b = std::conj(inner(y, M.gamma5(M.apply(x, kappa))));
      CHECK_NEAR(std::abs(a - b), 0, 1e-16L * norm(x) * norm(y));
    }
}

TEST("the operator goes along with a gauge transformation") {
  NOTE(fresh::said());
  auto g = random_rotation(lattice, fresh::seed() + 7);
  auto links = random_links(lattice, fresh::seed());
  auto rotated_links = [&](const Coords& x, int mu) {  // g(x) U_mu(x) g(x + mu)^dagger
    Coords ahead = x;
    ahead[mu] = (x[mu] + 1) % lattice.extent[mu];
    return g(x) * links(x, mu) * adjoint(g(ahead));
  };
  auto source = random_source(lattice, 3);
  WilsonReference M(lattice, links), rotated(lattice, rotated_links);
  auto rotate = [&](Field psi) {
    for (i64 site = 0; site < lattice.volume(); site++) {
      auto G = g(M.coordinates(site));
      for (int s = 0; s < 4; s++) {
        Number old[3];
        for (int a = 0; a < 3; a++) old[a] = psi[site * 12 + s * 3 + a];
        for (int a = 0; a < 3; a++) {
          Number sum = 0;
          for (int b = 0; b < 3; b++) sum += Number(G.e[a][b].re, G.e[a][b].im) * old[b];
          psi[site * 12 + s * 3 + a] = sum;
        }
      }
    }
    return psi;
  };
  Field psi = M.field(source);
  CHECK_NEAR(distance(rotated.apply(rotate(psi), kappa), rotate(M.apply(psi, kappa))), 0, 20 * tiny);
  CHECK(distance(M.apply(rotate(psi), kappa), rotate(M.apply(psi, kappa))) > 0.1);
}

// M exp(ipx) chi = exp(ipx) (1 - 2 kappa sum cos p_mu + 2 i kappa sum gamma_mu sin p_mu) chi.
TEST("plane waves of the free field have their eigenvalues, with odd multiples of pi / T where t is antiperiodic") {
  NOTE(fresh::said());
  fresh::Random random(62);
  for (auto& l : {lattice, periodic}) {
    WilsonReference M(l, unit_links());
    for (int round = 0; round < 4; round++) {
      long double p[4];
      for (int mu = 0; mu < 4; mu++) {
        long double k = (long double)random.whole(0, l.extent[mu] - 1) + (mu == 3 && l.antiperiodic ? 0.5L : 0.0L);
        p[mu] = 2 * std::numbers::pi_v<long double> * k / l.extent[mu];
      }
      Spinor<double> chi = random_spinor(random), image;
      for (int s = 0; s < 4; s++)
        for (int r = 0; r < 4; r++) {
          Number entry = s == r ? 1 : 0;
          for (int mu = 0; mu < 4; mu++) {
            entry -= 2 * kappa * std::cos(p[mu]) * (s == r ? 1.0L : 0.0L);
            entry += Number(0, 2) * kappa * std::sin(p[mu]) * WilsonReference::gamma(mu)[s][r];
          }
          for (int a = 0; a < 3; a++)
            image.s[s].c[a] = image.s[s].c[a] + Complex<double>{double(entry.real()), double(entry.imag())} * chi.s[r].c[a];
        }
      CHECK_NEAR(distance(M.apply(plane_wave(M, p, chi), kappa), plane_wave(M, p, image)), 0, 20 * tiny);
    }
  }
}

TEST("the operator of no hopping is 1, and hopping joins sites of different parity") {
  WilsonReference M(lattice, random_links(lattice, 5));
  Field psi = M.field(random_source(lattice, 4));
  CHECK_NEAR(distance(M.apply(psi, 0), psi), 0, 0);
  Field even = psi;
  auto parity = [&](std::size_t k) {
    Coords x = M.coordinates(i64(k / 12));
    return (x[0] + x[1] + x[2] + x[3]) % 2;
  };
  for (std::size_t k = 0; k < even.size(); k++)
    if (parity(k)) even[k] = 0;
  Field image = M.hop(even);
  for (std::size_t k = 0; k < even.size(); k++)
    if (parity(k) == 0) CHECK(image[k] == Number(0));
}
