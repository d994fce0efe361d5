// Small programs for tests of the model engine: each rank has one row, counts, and adds.
#pragma once
#include "sordino/runtime/model/engine.hpp"

namespace counting {

using namespace sordino;
using model::ModelEngine;
using model::Options;

inline constexpr double us = 1e-6;

inline std::vector<std::byte> bytes(std::size_t n, int value = 0) { return std::vector<std::byte>(n, std::byte(value)); }

inline Options ranks(int n, u64 seed = 0) {
  Options o;
  o.ranks = n;
  o.seed = seed;
  return o;
}

/// One row a rank.
inline Space row_each(const Rank& s) {
  Space space;
  space.n_global = space.n_blocks = s.size();
  space.first_row = space.first_block = s.id();
  space.rows = 1;
  set_tiles(space, {0, 1});
  return space;
}

struct Add {
  In x;
  SORDINO_HD Sums<1> row(i32 i) { return {x[i]}; }
};
struct Increase {
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += 1; }
};
struct Never {
  Get s;
  SORDINO_HD int test() const { return proceed; }
  SORDINO_HD double value() const { return s; }
};
struct Reaches {
  Get s;
  double limit;
  template <class V>
  void fields(V&& visit) {
    visit(s);
  }
  int test() const { return s >= limit ? met : proceed; }
  double value() const { return s; }
};

/// A loop that counts up to `limit` by reducing a vector of ones, and adds.
struct Counter {
  explicit Counter(Rank& s, double limit = 1e300) {
    Vec x = s.vector("x", s.add_space(row_each(s)));
    sum = s.scalar("sum");
    loop = s.loop({}, [&] {
      s.run(Increase{x});
      s.run(Add{x}, start(sum));
      s.exit_if(Reaches{finish(sum), limit});
    });
  }
  Scal sum;
  Recorded loop;
};

}  // namespace counting
