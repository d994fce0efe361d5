// Products of distributed H-matrices against all entries of what they store, bit for bit the same on any number of ranks.
#include "sordino/hmatrix/hmatrix_operator.hpp"

#include "check.hpp"
#include "sordino/hmatrix/share.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/linalg/products.hpp"

using hmatrix::Distribution;

namespace {

/// H x, computed by all ranks of an engine.
std::vector<double> product(Engine& engine, const hmatrix::HMatrix& H, const std::vector<double>& x, bool gathered,
                            Distribution how = Distribution::rows, int group = 1) {
  using hmatrix::HMatrixOperator;
  const Partition p = hmatrix::balance(H, engine.size());
  auto make = [&](Rank& s) {
    return gathered ? HMatrixOperator::gathered(s, H, p, how, group) : std::make_unique<HMatrixOperator>(s, H, p, how);
  };
  return product_by(engine, x, gathered, make).y;
}

std::vector<double> on_host(const hmatrix::HMatrix& H, const std::vector<double>& x, int ranks, bool gathered) {
  HostEngine engine({.ranks = ranks, .timeout = 20});
  return product(engine, H, x, gathered);
}

hmatrix::HMatrix matrix(int m0, int M, double eps) {
  const bem::Laplace laplace(surfaces::sphere(m0, M).view());
  return hmatrix::HMatrix(laplace, {.compression = {.eps = eps}});
}

}  // namespace

TEST("products are those of what is stored, and the same bits on 1, 2, 3 and 7 ranks, gathered or not") {
  NOTE(fresh::said());
  fresh::Random random(50);
  for (auto [m0, M] : {std::pair{3, 1}, {3, 4}, {7, 9}, {5, 12}}) {
    const hmatrix::HMatrix H = matrix(m0, M, 1e-5);
    const auto x = random.normals(H.size());
    const auto reference = on_host(H, x, 1, false), exact = dense::times(dense::of(H), x);
    NOTE("n = ", H.size());
    CHECK(dense::distance(reference, exact) <= 1e-14 * dense::norm(exact));
    for (int ranks : {1, 2, 3, 7}) {
      if (ranks > H.size()) continue;
      NOTE("ranks = ", ranks);
      for (bool gathered : {false, true}) CHECK(same_bits(on_host(H, x, ranks, gathered), reference));
    }
  }
}

TEST("by leaves and in a grid products are those of what is stored, on any number of ranks, gathered or not") {
  NOTE(fresh::said());
  fresh::Random random(53);
  for (auto [m0, M] : {std::pair{3, 1}, {3, 4}, {7, 9}, {5, 12}}) {
    const hmatrix::HMatrix H = matrix(m0, M, 1e-5);
    const auto x = random.normals(H.size());
    const auto exact = dense::times(dense::of(H), x);
    for (int ranks : {1, 2, 3, 4, 6, 9}) {
      if (ranks > H.size()) continue;
      for (Distribution how : {Distribution::leaves, Distribution::grid})
        for (bool gathered : {false, true}) {
          NOTE("n = ", H.size(), ", ranks = ", ranks, how == Distribution::grid ? ", grid" : "", gathered ? ", gathered" : "");
          HostEngine engine({.ranks = ranks, .timeout = 20});
          const auto y = product(engine, H, x, gathered, how);
          CHECK(dense::distance(y, exact) <= 1e-14 * dense::norm(exact));
          CHECK(same_bits(product(engine, H, x, gathered, how), y));
        }
    }
  }
}

TEST("the model computes the same products of H-matrices, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(51);
  const hmatrix::HMatrix H = matrix(5, 8, 1e-4);
  const auto x = random.normals(H.size());
  for (Distribution how : {Distribution::rows, Distribution::leaves, Distribution::grid}) {
    HostEngine host({.ranks = how == Distribution::rows ? 1 : 4, .timeout = 20});
    const auto reference = product(host, H, x, false, how);
    for (u64 k = 0; k < 12; k++) {
      const u64 seed = k / 2;
      const bool gathered = k % 2 == 1;
      NOTE("seed = ", seed);
      model::Options o;
      o.ranks = 4;
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      CHECK(same_bits(product(engine, H, x, gathered, how), reference));
    }
  }
}

TEST("products gathered by groups have the bits of those gathered from each to each, in any order of events") {
  NOTE(fresh::said());
  fresh::Random random(54);
  const hmatrix::HMatrix H = matrix(5, 8, 1e-4);
  const auto x = random.normals(H.size());
  constexpr int ranks = 12;
  for (Distribution how : {Distribution::rows, Distribution::leaves}) {
    HostEngine each({.ranks = ranks, .timeout = 20});
    const auto reference = product(each, H, x, true, how);
    for (int group : {2, 3, 4, 6, 12}) {
      NOTE("groups of ", group);
      HostEngine host({.ranks = ranks, .timeout = 20});
      CHECK(same_bits(product(host, H, x, true, how, group), reference));
      for (u64 seed = 0; seed < 4; seed++) {
        NOTE("seed = ", seed);
        model::Options o;
        o.ranks = ranks;
        o.seed = seed;
        o.machine.jitter_s = 5e-6;
        o.machine.ranks_per_node = group;
        model::ModelEngine engine(o);
        CHECK(same_bits(product(engine, H, x, true, how, group), reference));
      }
    }
  }
}

TEST("ranks read about equally many values of an H-matrix") {
  const hmatrix::HMatrix H = matrix(7, 14, 1e-6);
  for (int ranks : {2, 4, 7}) {
    const Partition p = hmatrix::balance(H, ranks);
    const auto before = hmatrix::costs_before(H);
    CHECK(before.back() == H.statistics().stored_values);
    const double fair = double(before.back()) / ranks;
    for (int r = 0; r < ranks; r++) {
      NOTE("rank ", r, " of ", ranks);
      const double mine = double(before[std::size_t(p.first_row(r + 1))] - before[std::size_t(p.first_row(r))]);
      CHECK_NEAR(mine / fair, 1.0, 0.1);
    }
  }
}

TEST("dot products of a product's result are those of the vectors") {
  fresh::Random random(52);
  NOTE(fresh::said());
  const hmatrix::HMatrix H = matrix(5, 6, 1e-5);
  const auto x = random.normals(H.size());
  const auto y = on_host(H, x, 1, false);
  auto with = [&](Rank& s, Distribution how) {
    hmatrix::HMatrixOperator op(s, H, hmatrix::balance(H, 3), how);
    Vec from = op.operand(s, "x"), to = op.result(s, "y");
    Scal xy = s.scalar("(x,y)");
    auto apply = s.record([&] {
      s.run(Nothing{}, push(from));
      op.apply(s, from, to, start(dot(from, to) >> xy));
      s.wait(xy);
    });
    s.write(from, x.data() + s.space(op.space()).first_row);
    s.replay(apply);
    long double sum = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); i++) sum += (long double)x[i] * y[i], size += std::abs((long double)x[i] * y[i]);
    CHECK_NEAR((long double)s.get(xy), sum, 1e-14L * size);
    CHECK(s.ledger.reductions == 1);
  };
  for (Distribution how : {Distribution::rows, Distribution::leaves, Distribution::grid})
    HostEngine({.ranks = 3, .timeout = 20}).run([&](Rank& s) { with(s, how); });
}
