// Panels of an H-matrix's product, which GPUs multiply, computed here by threads of a host: against all entries of what is
// stored, of real and of complex matrices. Vectors are words.
#include "sordino/hmatrix/panels.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <tuple>

#include "check.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/linalg/products.hpp"

using namespace sordino::hmatrix;

namespace {

constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

/// One of a block's threads. What they add up together is kept where all find it; the last one to come stores the sum.
struct ThreadOfBlock {
  static constexpr int lanes = 32, warps = 8;
  using Sums = std::map<std::tuple<int, int, int>, double>;  // of a warp or -1, its n-th sums, which of them
  int lane, warp;
  Sums* sums;
  mutable int calls = 0;

  template <int M, class Store>
  void sum(double (&s)[M], i32 count, bool of_block, const Store& store) const {
    for (i32 i = 0; i < count; i++) store(i, (*sums)[{of_block ? -1 : warp, calls, i}] += s[i]);
    calls++;
  }
};

template <class Functor>
void run_by_block(const Functor& f, i32 task) {
  ThreadOfBlock::Sums sums;
  for (int warp = 0; warp < ThreadOfBlock::warps; warp++)
    for (int lane = 0; lane < ThreadOfBlock::lanes; lane++) f.row(task, ThreadOfBlock{lane, warp, &sums});
}

/// Runs tasks [begin, end) of a command, by one thread or as a block's threads do it.
template <Access how, int C = 1, class V, template <class> class P>
void run(const P<V>& panels, i32 begin, i32 end, const double* operand, double* result, bool by_block = false) {
  std::vector<V> values(std::size_t(panels.values));
  std::fill_n(words(values.data()), words_of<V> * values.size(), nowhere);
  for (std::size_t p = 0; p < panels.panels.size(); p++) panels.fill(i32(p), values.data() + panels.panels[p].values);
  PanelRows<how, V, C> f = {};
  f.tasks = panels.tasks.data();
  f.panels = panels.panels.data();
  f.runs = panels.runs.data();
  f.results = panels.results.empty() ? nullptr : panels.results.data();
  f.values = values.data();
  f.operand.p = reinterpret_cast<const RowOf<V, C>*>(operand);
  f.result.p = reinterpret_cast<RowOf<V, C>*>(result);
  for (i32 t = begin; t < end; t++) by_block ? run_by_block(f, t) : f.row(t);
}

/// The share of a rank that has these rows, and all columns.
template <class V>
Share<V> rows_of(const HMatrixOf<V>& H, RowRange rows) {
  std::vector<std::vector<i64>> cuts;
  for (i32 cut : {i32(0), rows.begin, rows.end})
    if (cut < H.size() && (cuts.empty() || cut > cuts.back()[0])) cuts.push_back({cut});
  return share_of(H, partition_at(H.size(), cuts), Distribution::rows, rows.begin > 0 ? 1 : 0, true);
}

/// Rows of H x, in the tree's order, with x as a rank stores it: its own rows, and the others behind them; of C interleaved x.
template <int C = 1, class V>
std::vector<double> product(const HMatrixOf<V>& H, RowRange rows, const std::vector<double>& x, bool by_block = false) {
  constexpr int words = words_of<RowOf<V, C>>;
  const i32 n = i32(H.size());
  const Places places{rows.begin, rows.size()};
  std::vector<double> stored(x.size()), y(std::size_t(words * rows.size()), nowhere);
  for (i32 i = 0; i < n; i++) std::copy_n(x.begin() + words * i, words, stored.begin() + words * places.of(i));
  const Share<V> share = rows_of(H, rows);
  const Terms<V> terms(share);
  const TermPanels<V> project(terms, places, rows);
  const StripPanels<V> strips(H.tree(), terms, share.rows, 0);
  std::vector<double> z(std::size_t(words * (n + terms.count)), nowhere);
  run<Access::ghost, C>(project, 0, i32(project.tasks.size()), stored.data(), z.data(), by_block);
  run<Access::read, C>(strips, 0, i32(strips.tasks.size()), z.data(), y.data(), by_block);
  return y;
}

/// H x, entry by entry.
template <class V>
std::vector<double> exact(const HMatrixOf<V>& H, const std::vector<double>& x) {
  std::vector<V> row(std::size_t(H.size()));
  std::vector<double> y;
  for (i64 i = 0; i < H.size(); i++) {
    H.row(i32(i), row.data());
    const double* a = words(row.data());
    long double re = 0, im = 0;
    for (std::size_t k = 0; k < x.size(); k += words_of<V>) {
      re += (long double)a[k] * x[k];
      if (words_of<V> == 1) continue;
      re -= (long double)a[k + 1] * x[k + 1];
      im += (long double)a[k] * x[k + 1] + (long double)a[k + 1] * x[k];
    }
    y.push_back(double(re));
    if (words_of<V> == 2) y.push_back(double(im));
  }
  return y;
}

/// One of so many that lie interleaved.
template <class V>
std::vector<double> column(const std::vector<double>& all, int c, int columns) {
  constexpr std::size_t words = words_of<V>;
  std::vector<double> one;
  for (std::size_t i = words * std::size_t(c); i < all.size(); i += words * std::size_t(columns))
    one.insert(one.end(), all.begin() + i64(i), all.begin() + i64(i + words));
  return one;
}

template <class V>
HMatrixOf<V> matrix(int m0, int M, const BuildOptions& options) {
  if constexpr (words_of<V> == 1)
    return HMatrix(bem::Laplace(surfaces::sphere(m0, M).view()), options);
  else
    return ComplexHMatrix(bem::Helmholtz(surfaces::sphere(m0, M, 1.0).view(), 2), options);
}

/// f of a value of each kind.
template <class F>
void of_both(const F& f) {
  NOTE(fresh::said());
  f(double{});
  f(Number{});
}

}  // namespace

TEST("panels multiply what is stored, and any cut of the rows has the same bits") {
  NOTE(fresh::said());
  fresh::Random random(70);
  of_both([&]<class V>(V) {
    for (auto [m0, M, leaf] : {std::tuple{3, 1, 15}, {3, 4, 15}, {7, 9, 15}, {6, 10, 40}, {8, 9, 8}}) {
      const auto H = matrix<V>(m0, M, {.compression = {.eps = 1e-5}, .leaf = leaf});
      const i32 n = i32(H.size());
      NOTE("n = ", n, ", leaves of ", leaf, ", words of a value: ", words_of<V>);
      const auto x = random.normals(words_of<V> * n), expected = exact(H, x);
      const auto whole = product(H, {0, n}, x);
      CHECK(dense::distance(whole, expected) <= 1e-14 * dense::norm(expected));
      const HMatrixOf<V> turned(H, Transposed{});
      const auto of_turned = exact(turned, x);
      CHECK(dense::distance(product(turned, {0, n}, x), of_turned) <= 1e-14 * dense::norm(of_turned));
      for (int k = 0; k < 4; k++) {
        const i32 cut = i32(random.whole(1, n - 1));
        auto parts = product(H, {0, cut}, x);
        for (double y : product(H, {cut, n}, x)) parts.push_back(y);
        NOTE("cut at ", cut);
        CHECK(same_bits(parts, whole));
      }
    }
  });
}

TEST("a block's threads share panels so that each value is multiplied once") {
  NOTE(fresh::said());
  fresh::Random random(72);
  of_both([&]<class V>(V) {
    for (auto [m0, M] : {std::pair{3, 1}, {7, 9}, {12, 16}}) {
      const auto H = matrix<V>(m0, M, {.compression = {.eps = 1e-5}});
      const i32 n = i32(H.size());
      NOTE("n = ", n, ", words of a value: ", words_of<V>);
      const auto x = random.normals(words_of<V> * n), alone = product(H, {0, n}, x);
      CHECK(dense::distance(product(H, {0, n}, x, true), alone) <= 1e-14 * dense::norm(alone));
    }
  });
}

TEST("panels multiply 2, 4 and 8 vectors at once with the bits of each alone, by one thread and by a block's") {
  NOTE(fresh::said());
  fresh::Random random(74);
  of_both([&]<class V>(V) {
    constexpr int words = words_of<V>;
    auto check = [&]<int C>(std::integral_constant<int, C>, const HMatrixOf<V>& H, bool by_block) {
      const i32 n = i32(H.size());
      NOTE("n = ", n, ", ", C, " vectors, words of a value: ", words, by_block ? ", by a block" : "");
      const auto x = random.normals(i64(words) * C * n), y = product<C>(H, {0, n}, x, by_block);
      for (int c = 0; c < C; c++) CHECK(same_bits(column<V>(y, c, C), product(H, {0, n}, column<V>(x, c, C), by_block)));
    };
    for (auto [m0, M, leaf] : {std::tuple{3, 1, 15}, {5, 7, 15}, {6, 8, 40}}) {
      const auto H = matrix<V>(m0, M, {.compression = {.eps = 1e-5}, .leaf = leaf});
      for (bool by_block : {false, true}) {
        if (by_block && H.size() > 100) continue;
        check(std::integral_constant<int, 2>{}, H, by_block);
        check(std::integral_constant<int, 4>{}, H, by_block);
        check(std::integral_constant<int, 8>{}, H, by_block);
      }
    }
  });
}

TEST("panels hold each stored value once, and large tasks come first") {
  of_both([]<class V>(V) {
    const auto H = matrix<V>(9, 14, {.compression = {.eps = 1e-6}});
    const i32 n = i32(H.size());
    const Share<V> share = whole(H);
    const Terms<V> terms(share);
    const TermPanels<V> project(terms, {0, n}, {0, n});
    const StripPanels<V> strips(H.tree(), terms, share.rows, 0);
    CHECK(project.values + strips.values == H.statistics().stored_values);
    for (const Panels* panels : {static_cast<const Panels*>(&project), static_cast<const Panels*>(&strips)}) {
      std::vector<int> taken(panels->panels.size());
      i64 before = std::numeric_limits<i64>::max();
      for (const PanelTask& t : panels->tasks) {
        if (t.work == Work::copy) continue;
        const bool alone = t.count == 1, by_warps = t.work == Work::panels_by_warps;
        CHECK((alone || by_warps));
        i64 values = 0;
        for (i32 k = t.first; k < t.first + t.count; k++) {
          taken[std::size_t(k)]++;
          values += i64(panels->panels[std::size_t(k)].rows) * panels->panels[std::size_t(k)].columns;
        }
        CHECK(values <= before);
        before = values;
      }
      for (int times : taken) CHECK(times == 1);
    }
  });
}

namespace {

bool same(const Panels& a, const Panels& b) {
  auto of_panel = [](const Panel& p) { return std::tuple(p.values, p.columns, p.rows, p.first, p.runs); };
  auto of_run = [](const Run& r) { return std::tuple(r.end, r.shift); };
  auto of_task = [](const PanelTask& t) { return std::tuple(t.work, t.first, t.count, t.shift); };
  return std::ranges::equal(a.panels, b.panels, {}, of_panel, of_panel) &&
         std::ranges::equal(a.runs, b.runs, {}, of_run, of_run) && std::ranges::equal(a.tasks, b.tasks, {}, of_task, of_task) &&
         a.results == b.results && a.early == b.early;
}

}  // namespace

TEST("tables and values of panels do not depend on how many threads make them") {
  const HMatrix H = matrix<double>(13, 14, {.compression = {.eps = 1e-3}});
  const RowRange rows{i32(H.size() / 5), i32(H.size() / 5 * 4)};
  const Places places{rows.begin, rows.size()};
  const Share<double> share = rows_of(H, rows);
  const Terms<double> terms(share);
  auto values = [](const auto& panels) {
    std::vector<double> all(std::size_t(panels.values), nowhere);
    for (std::size_t p = 0; p < panels.panels.size(); p++) panels.fill(i32(p), all.data() + panels.panels[p].values);
    return all;
  };
  CHECK(terms.leaves.size() > 6000);  // some thousand for a thread
  const TermPanels<double> one(terms, places, rows, 1);
  const StripPanels<double> strips(H.tree(), terms, share.rows, 0, 1);
  for (int threads : {2, 7}) {
    const TermPanels<double> several(terms, places, rows, threads);
    const StripPanels<double> several_strips(H.tree(), terms, share.rows, 0, threads);
    CHECK(same(one, several));
    CHECK(same(strips, several_strips));
    CHECK(values(one) == values(several));
    CHECK(values(strips) == values(several_strips));
  }
}

TEST("early tasks of panels read own rows alone") {
  NOTE(fresh::said());
  fresh::Random random(71);
  of_both([&]<class V>(V) {
    constexpr int words = words_of<V>;
    const auto H = matrix<V>(7, 12, {.compression = {.eps = 1e-4}});
    const i32 n = i32(H.size());
    const RowRange own{n / 3, n / 3 + n / 2};
    const Share<V> share = rows_of(H, own);
    const Terms<V> terms(share);
    const TermPanels<V> project(terms, {own.begin, own.size()}, own);
    std::vector<double> x = random.normals(words * n), z(std::size_t(words * (n + terms.count)), 7.25);
    std::fill(x.begin() + words * own.size(), x.end(), nowhere);
    run<Access::ghost>(project, 0, project.early, x.data(), z.data());
    for (double value : z) CHECK(!std::isnan(value));
    run<Access::ghost>(project, project.early, i32(project.tasks.size()), x.data(), z.data());
    i64 awaited = 0;
    for (double value : z) awaited += std::isnan(value);
    CHECK(awaited > words * (n - own.size()));  // the others' rows of x, and terms of them
    CHECK(awaited < i64(z.size()) - words * own.size());
    for (double value : z) CHECK(value != 7.25);
  });
}

namespace {

/// What ranks of a host get by the commands that GPUs have: H x, and the dot products of it that are asked for.
struct ByRanks {
  std::vector<double> y, dots;
};
template <class V>
ByRanks by_ranks(const HMatrixOf<V>& H, const std::vector<double>& x, const std::vector<Turn>& turns, int ranks) {
  ByRanks out{std::vector<double>(x.size()), std::vector<double>(turns.size())};
  const Partition p = balance(H, ranks);
  HostEngine engine({.ranks = ranks, .timeout = 20});
  engine.run([&](Rank& s) {
    const HMatrixOperator op(s, H, p);
    const RowRange own{i32(p.first_row(s.id())), i32(p.first_row(s.id() + 1))};
    const Share<V> share = share_of(H, p, Distribution::rows, s.id());
    const auto panels = panel_product(s, Layout<V>{share, H.tree(), own, {own.begin, own.size()}, own});
    Vec from = op.operand(s, "x"), to = op.result(s, "y");
    StartDots epilogue;
    for (Turn turn : turns) epilogue.dots.push_back(dot(to, from, turn) >> s.scalar("(x,y)"));
    auto apply = s.record([&] {
      s.run(Nothing{}, push(from));
      panels->project(s, from);
      panels->add_up(s, to, epilogue);
      if (!turns.empty()) s.wait(epilogue.dots[0].to);
    });
    const i32 first = s.space(op.space()).first_row;
    s.write(from, x.data() + first);
    s.replay(apply);
    s.read(to, out.y.data() + first);
    for (std::size_t k = 0; s.id() == 0 && k < turns.size(); k++) out.dots[k] = s.get(epilogue.dots[k].to);
  });
  return out;
}

}  // namespace

TEST("ranks multiply panels, and take dot products of the result, complex ones too") {
  NOTE(fresh::said());
  fresh::Random random(73);
  of_both([&]<class V>(V) {
    const auto H = matrix<V>(7, 9, {.compression = {.eps = 1e-5}});
    const auto x = random.normals(words_of<V> * H.size()), alone = product(H, {0, i32(H.size())}, x);
    const double size = dense::norm(x) * dense::norm(alone);
    auto wide = [](const std::vector<double>& v, std::size_t k) {
      return std::complex<long double>(v[k], words_of<V> == 1 ? 0 : v[k + 1]);
    };
    std::complex<long double> conjugated = 0, plain = 0;  // x^H y and x^T y
    for (std::size_t k = 0; k < x.size(); k += words_of<V>) {
      conjugated += std::conj(wide(x, k)) * wide(alone, k);
      plain += wide(x, k) * wide(alone, k);
    }
    auto near = [&](const std::vector<double>& found, const std::vector<long double>& expected) {
      for (std::size_t k = 0; k < expected.size(); k++) CHECK_NEAR(found[k], double(expected[k]), 1e-14 * size);
    };
    for (int ranks : {1, 2, 3, 7}) {
      NOTE("ranks = ", ranks, ", words of a value: ", words_of<V>);
      CHECK(same_bits(by_ranks(H, x, {}, ranks).y, alone));
      near(by_ranks(H, x, {Turn::none}, ranks).dots, {conjugated.real()});
      if (words_of<V> == 1) continue;
      near(by_ranks(H, x, {Turn::none, Turn::by_i}, ranks).dots, {conjugated.real(), conjugated.imag()});
      near(by_ranks(H, x, {Turn::conjugate, Turn::conjugate_by_i, Turn::none}, ranks).dots,
           {plain.real(), plain.imag(), conjugated.real()});
    }
  });
}
