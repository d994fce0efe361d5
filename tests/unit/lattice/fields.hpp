// Fields over a whole lattice, for tests of package lattice.
#pragma once
#include <vector>

#include "sordino/lattice/reference.hpp"
#include "unit/fresh.hpp"

namespace fields {

using namespace sordino::lattice;
using sordino::i32;
using sordino::i64;
using sordino::u64;
using Field = WilsonReference::Field;
using Number = WilsonReference::Number;

inline Number inner(const Field& a, const Field& b) {  // <a, b>
  Number sum = 0;
  for (std::size_t k = 0; k < a.size(); k++) sum += std::conj(a[k]) * b[k];
  return sum;
}
inline long double distance(const Field& a, const Field& b) {  // largest difference
  long double most = 0;
  for (std::size_t k = 0; k < a.size(); k++) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}
inline long double norm(const Field& a) { return std::sqrt(inner(a, a).real()); }

inline Spinor<double> random_spinor(fresh::Random& random) {
  Spinor<double> psi;
  for (auto& s : psi.s)
    for (auto& z : s.c) z = {random.normal(), random.normal()};
  return psi;
}

/// Links of each kind.
struct Kind {
  const char* name;
  Links links;
};
inline std::vector<Kind> kinds(const Lattice& lattice, u64 seed) {
  return {{"unit", unit_links()}, {"warm", warm_links(lattice, seed, 0.3)}, {"random", random_links(lattice, seed)}};
}

}  // namespace fields
