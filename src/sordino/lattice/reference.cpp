#include "sordino/lattice/reference.hpp"

namespace sordino::lattice {
namespace {

using Number = WilsonReference::Number;
constexpr Number one{1, 0}, i{0, 1}, o{0, 0};

// DeGrand-Rossi, as in spinor.hpp, written out.
const Number gammas[5][4][4] = {
    {{o, o, o, i}, {o, o, i, o}, {o, -i, o, o}, {-i, o, o, o}},
    {{o, o, o, -one}, {o, o, one, o}, {o, one, o, o}, {-one, o, o, o}},
    {{o, o, i, o}, {o, o, o, -i}, {-i, o, o, o}, {o, i, o, o}},
    {{o, o, one, o}, {o, o, o, one}, {one, o, o, o}, {o, one, o, o}},
    {{one, o, o, o}, {o, one, o, o}, {o, o, -one, o}, {o, o, o, -one}},
};

}  // namespace

const Number (&WilsonReference::gamma(int mu))[4][4] { return gammas[mu]; }

WilsonReference::WilsonReference(const Lattice& lattice, const Links& links) : lattice_(lattice) {
  for (i64 site = 0; site < lattice.volume(); site++)
    for (int mu = 0; mu < 4; mu++) {
      auto U = links(coordinates(site), mu);
      auto& to = links_.emplace_back();
      for (int k = 0; k < 9; k++) to[k] = {U.e[k / 3][k % 3].re, U.e[k / 3][k % 3].im};
    }
}

Coords WilsonReference::coordinates(i64 site) const {
  Coords x;
  for (int mu = 0; mu < 4; mu++) {
    x[mu] = i32(site % lattice_.extent[mu]);
    site /= lattice_.extent[mu];
  }
  return x;
}

WilsonReference::Neighbour WilsonReference::neighbour(const Coords& x, int mu, int step) const {
  Coords y = x;
  i32 n = lattice_.extent[mu];
  y[mu] = (x[mu] + step + n) % n;
  bool wraps = y[mu] != x[mu] + step;
  return {lattice_.number(y), wraps && mu == 3 && lattice_.antiperiodic ? -1.0L : 1.0L};
}

WilsonReference::Field WilsonReference::hop(const Field& psi) const {
  Field out(psi.size());
  for (i64 site = 0; site < lattice_.volume(); site++)
    for (int mu = 0; mu < 4; mu++)
      for (int step : {1, -1}) {
        auto [other, sign] = neighbour(coordinates(site), mu, step);
        auto& U = links_[(step > 0 ? site : other) * 4 + mu];
        for (int s = 0; s < 4; s++)
          for (int r = 0; r < 4; r++) {
            Number spin = (s == r ? one : o) - Number(step) * gammas[mu][s][r];
            for (int a = 0; a < 3; a++)
              for (int b = 0; b < 3; b++) {
                Number link = step > 0 ? U[a * 3 + b] : std::conj(U[b * 3 + a]);
                out[site * 12 + s * 3 + a] += sign * spin * link * psi[other * 12 + r * 3 + b];
              }
          }
      }
  return out;
}

WilsonReference::Field WilsonReference::apply(const Field& psi, long double kappa) const {
  Field out = hop(psi);
  for (std::size_t k = 0; k < out.size(); k++) out[k] = psi[k] - kappa * out[k];
  return out;
}

WilsonReference::Field WilsonReference::gamma5(Field psi) {
  for (std::size_t k = 0; k < psi.size(); k++)
    if (k % 12 >= 6) psi[k] = -psi[k];
  return psi;
}

WilsonReference::Field WilsonReference::field(const Source& source) const {
  Field out;
  for (i64 site = 0; site < lattice_.volume(); site++) {
    auto psi = source(coordinates(site));
    for (auto& s : psi.s)
      for (auto& z : s.c) out.push_back({z.re, z.im});
  }
  return out;
}

}  // namespace sordino::lattice
