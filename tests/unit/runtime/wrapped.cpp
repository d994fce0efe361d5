// Vectors in memory of the caller's: nothing is copied, zeroed or booked.
#include <numeric>

#include "check.hpp"
#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

struct Sum {
  Ghost x;
  Out y;
  i32 rows;
  SORDINO_HD void row(i32 i) { y[i] = 10 * x[i] + x[rows]; }
};
struct Twice {
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] *= 2; }
};

/// Every rank doubles its rows where they are, and gets the first row of the next rank.
void run(Engine& engine) {
  constexpr i32 rows = 5;
  const int n = engine.size();
  const auto ranks = std::size_t(n);
  std::vector<std::vector<double>> x(ranks, std::vector<double>(rows + 1)), y(ranks, std::vector<double>(rows));
  std::vector<i64> before(ranks), after(ranks);
  engine.run(
      [&](Rank& s) {
        auto me = std::size_t(s.id());
        std::iota(x[me].begin(), x[me].end(), 100.0 * s.id());
        Exchange next = point_to_point(s, rows, {{(s.id() + n - 1) % n, {0}}}, {{(s.id() + 1) % n, 1}});
        int space = s.add_space(equal_parts(rows, s.id(), n));
        before[me] = engine.bytes_held(s.id());
        Vec a = s.wrap("a", space, x[me].data(), &next), b = s.wrap("b", space, y[me].data());
        after[me] = engine.bytes_held(s.id());
        CHECK_THROWS(s.wrap("none", space, nullptr), Error, "in memory of the caller's, which is null");
        auto there = s.record([&] {
          s.run(Twice{a}, push(a));
          s.run(Sum{a, b, rows});
        });
        s.replay(there);
      },
      {});
  for (int r = 0; r < n; r++) {
    NOTE("rank ", r);
    CHECK(before[std::size_t(r)] == after[std::size_t(r)]);
    for (i32 i = 0; i < rows; i++) {
      CHECK(x[std::size_t(r)][std::size_t(i)] == 2 * (100.0 * r + i));
      CHECK(y[std::size_t(r)][std::size_t(i)] == 20 * (100.0 * r + i) + 200.0 * ((r + 1) % n));
    }
  }
}

}  // namespace

TEST("wrapped vectors are computed, sent and received where the caller keeps them") {
  for (int ranks : {2, 3}) {
    NOTE(ranks, " ranks");
    host::HostEngine host({.ranks = ranks});
    run(host);
    model::Options o;
    o.ranks = ranks;
    model::ModelEngine model(o);
    run(model);
  }
}
