// Small systems as every rank solves them, and the tables of products that they are made of.
#include "sordino/solvers/gram.hpp"

#include <optional>

#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/solvers/tables.hpp"

using namespace sordino;

namespace {

using Matrix = std::vector<double>;  // [s][s] by rows

struct Factored {
  double kept;
  Matrix L;
  std::vector<double> a, diagonal;
};

/// C and diagonal: what is left of the step before, if there was one.
Factored factored(int s, const Matrix& G, const std::vector<double>& g, const Matrix& C = {},
                  const std::vector<double>& diagonal = {}) {
  std::vector<double> gram = G;
  gram.insert(gram.end(), g.begin(), g.end());
  Factored f{0, Matrix(std::size_t(s * s)), std::vector<double>(std::size_t(s)), diagonal};
  f.diagonal.resize(std::size_t(s));
  gram::Factor factor{.s = s, .rr_before = {}, .gram = {}, .C = {}, .L = {}, .a = {}, .diagonal = {}};
  factor.rr_before.v = C.empty() ? HUGE_VAL : 1;
  factor.gram.p = gram.data();
  factor.C.p = C.data();
  factor.L.p = f.L.data();
  factor.a.p = f.a.data();
  factor.diagonal.p = f.diagonal.data();
  f.kept = factor.row(0).v[0];
  return f;
}

std::vector<double> times(int s, const Matrix& G, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (int i = 0; i < s; i++)
    for (int j = 0; j < s; j++) y[std::size_t(i)] += G[std::size_t(i * s + j)] * x[std::size_t(j)];
  return y;
}

/// V'V of random columns; column `dependent`, if any, is the sum of those before it.
Matrix gram_matrix(fresh::Random& random, int s, int dependent = -1) {
  const int n = s + 5;
  std::vector<std::vector<double>> V;
  for (int j = 0; j < s; j++) {
    V.push_back(random.normals(n));
    if (j != dependent) continue;
    V.back().assign(std::size_t(n), 0);
    for (int k = 0; k < j; k++)
      for (int i = 0; i < n; i++) V.back()[std::size_t(i)] += V[std::size_t(k)][std::size_t(i)];
  }
  Matrix G;
  for (auto& a : V)
    for (auto& b : V) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
      G.push_back(sum);
    }
  return G;
}

}  // namespace

TEST("gram: a positive definite system is solved, and with its factor one with several right-hand sides") {
  NOTE(fresh::said());
  fresh::Random random(510);
  for (int s = 1; s <= gram::most_s; s++) {
    NOTE("s = ", s);
    Matrix G = gram_matrix(random, s), C = random.normals(s * s), B(C.size());
    auto g = random.normals(s);
    Factored f = factored(s, G, g);
    CHECK(f.kept == s);
    auto product = times(s, G, f.a);
    for (std::size_t i = 0; i < g.size(); i++) CHECK_NEAR(product[i], g[i], 1e-8);
    gram::Solve solve{.s = s, .L = {}, .C = {}, .B = {}};
    solve.L.p = f.L.data();
    solve.C.p = C.data();
    solve.B.p = B.data();
    for (int j = 0; j < s; j++) solve.row(j);
    for (int j = 0; j < s; j++) {
      std::vector<double> column, right;
      for (int i = 0; i < s; i++) {
        column.push_back(B[std::size_t(i * s + j)]);
        right.push_back(C[std::size_t(i * s + j)]);
      }
      auto same = times(s, G, column);
      for (std::size_t i = 0; i < right.size(); i++) CHECK_NEAR(same[i], right[i], 1e-8);
    }
  }
}

TEST("gram: a dependent column is left out, and the rest is solved as without it") {
  NOTE(fresh::said());
  fresh::Random random(511);
  for (int s : {2, 5, 12})
    for (int dependent = 1; dependent < s; dependent++) {
      NOTE("s = ", s, ", column ", dependent);
      Matrix G = gram_matrix(random, s, dependent);
      auto x = random.normals(s);
      auto g = times(s, G, x);  // in the range
      Factored f = factored(s, G, g);
      CHECK(f.kept == s - 1);
      CHECK(f.a[std::size_t(dependent)] == 0);
      auto product = times(s, G, f.a);
      for (std::size_t i = 0; i < g.size(); i++) CHECK_NEAR(product[i], g[i], 1e-7);
    }
}

TEST("gram: what is indefinite, not a number, or nothing at all is lost") {
  NOTE(fresh::said());
  fresh::Random random(512);
  for (int s : {1, 3, 8}) {
    NOTE("s = ", s);
    std::vector<double> g(std::size_t(s), 1.0);
    Matrix G = gram_matrix(random, s);
    for (double bad : {-1e3, double(NAN)}) {
      Matrix other = G;
      other.back() = bad;
      Factored f = factored(s, other, g);
      CHECK(f.kept == 0);
      for (int j = 0; j < s; j++) {
        CHECK(f.a[std::size_t(j)] == 0);
        CHECK(f.L[std::size_t(j * s + j)] == 0);
      }
    }
    CHECK(factored(s, Matrix(G.size()), g).kept == 0);
  }
}

TEST("gram: directions that have lost their conjugacy are noticed by products that ought to vanish") {
  NOTE(fresh::said());
  fresh::Random random(514);
  for (int s : {2, 3, 8}) {
    Matrix G = gram_matrix(random, s);
    std::vector<double> g = random.normals(s), before = random.normals(s);
    for (double& d : before) d = d * d + 0.1;
    auto at = [&](int i, int j) { return std::size_t(i * s + j); };
    for (int i = 0; i < s; i++)
      for (int j = 0; j < s; j++) {
        NOTE("s = ", s, ", ", i, ", ", j);
        const double length = std::sqrt(before[std::size_t(i)] * G[at(j, j)]);
        for (double cosine : {-2 * gram::Factor::most_lost, -0.5 * gram::Factor::most_lost, 2 * gram::Factor::most_lost}) {
          Matrix C(G.size());
          C[at(i, j)] = cosine * length;
          bool lost = i + j < s - 1 && std::abs(cosine) > gram::Factor::most_lost;
          Factored f = factored(s, G, g, C, before);
          CHECK(f.kept == (lost ? 0 : s));
          for (int k = 0; k < s; k++) CHECK(f.diagonal[std::size_t(k)] == G[at(k, k)]);
        }
      }
  }
}

TEST(
    "gram: a table holds every product once, in one reduction of as many values as it has entries, with the same bits on any "
    "ranks") {
  NOTE(fresh::said());
  fresh::Random random(513);
  for (int s = 1; s <= gram::most_s; s++) {
    const auto v = tables::vectors(random, s);
    const auto expected = tables::expected(v);
    const int batch = s % 2 ? 33 : int(random.whole(32, 2000));
    std::optional<tables::Found> of_one;
    for (int ranks : {1, 2, 3, 6}) {
      NOTE("s = ", s, ", ranks = ", ranks, ", batch = ", batch);
      host::HostEngine engine({.ranks = ranks, .timeout = 20});
      const auto found = tables::found(engine, v, batch);
      if (!of_one) of_one = found[0];
      for (const auto& of_rank : found) CHECK(of_rank == *of_one);
      for (std::size_t k = 0; k < expected.symmetric.size(); k++)
        CHECK_NEAR(found[0].symmetric[k], expected.symmetric[k], 1e-10);
      for (std::size_t k = 0; k < expected.whole.size(); k++) CHECK_NEAR(found[0].whole[k], expected.whole[k], 1e-10);
      CHECK(engine.rank(0).ledger.reductions == 2);
      CHECK(engine.rank(0).ledger.reduced_values == s * (s + 1) / 2 + s + s * s);
    }
  }
}

TEST("gram: batches too small for a rank's rows are refused") {
  host::HostEngine engine({.ranks = 1, .timeout = 20});
  engine.run([&](Rank& rank) {
    const int space = rank.add_space(equal_parts(1 << 24, 0, 1));
    CHECK_THROWS(gram::Batches(rank, space, 1, 272), Error, "batch 1 is too small for 16777216 rows on a rank");
  });
}
