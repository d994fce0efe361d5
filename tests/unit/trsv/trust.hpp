// Solves of random triangles by the thousand: that none hangs, and all have the same bits.
// SORDINO_TEST_SOLVES=100000 build/tests/sordino_property --file property/triangular_trust.cpp
#pragma once
#include <cstdlib>

#include "sordino/trsv/factor.hpp"
#include "unit/trsv/triangles.hpp"

namespace trust {

using sordino::i32;
using sordino::i64;
using triangles::Columns;

/// How many solves a test makes: as many as the environment says, or else so few that nobody waits for them.
inline i64 wanted(i64 usual) {
  const char* given = std::getenv("SORDINO_TEST_SOLVES");
  return given ? std::strtoll(given, nullptr, 10) : usual;
}

/// A triangle of up to some hundred rows: of a grid in its own or in nested order, of a chain with some longer steps, with
/// entries anywhere, few or many.
inline Columns any(fresh::Random& random) {
  auto side = [&] { return i32(random.whole(1, 8)); };
  switch (random.whole(0, 3)) {
    case 0: return triangles::grid(side(), side(), side());
    case 1: return triangles::nested_grid(side(), side(), side());
    case 2: {
      std::vector<std::vector<i32>> below(std::size_t(random.whole(1, 200)), std::vector<i32>{});
      for (i64 i = 1; i < i64(below.size()); i++) {
        below[std::size_t(i - 1)].push_back(i32(i));
        if (i > 1 && random.chance(0.3)) below[std::size_t(random.whole(0, i - 2))].push_back(i32(i));
      }
      return triangles::columns_of(below);
    }
    default: return triangles::scattered(random, random.whole(1, 80), random.real(0, 0.5));
  }
}

/// A triangle with values and right-hand sides, to be solved with in one way.
template <class V>
struct Problem {
  Columns c;
  std::vector<V> values;
  bool unit;
  i64 columns;
  std::vector<V> b;
  sordino::trsv::Direction direction;
  bool conjugate;  // L^H

  explicit Problem(fresh::Random& random)
      : c(any(random)),
        values(triangles::values_of<V>(c, random)),
        unit(random.chance(0.3)),
        columns(random.chance(0.2) ? random.whole(10, 40) : random.whole(1, 9)),
        b(triangles::vector_of<V>(c.n * columns, random)),
        direction(random.chance(0.4) ? sordino::trsv::Direction::forward : sordino::trsv::Direction::backward),
        conjugate(direction == sordino::trsv::Direction::backward && random.chance(0.5)) {}

  sordino::trsv::TriangleView<V> view() const { return {c.pattern(), values.data(), unit}; }
};

}  // namespace trust
