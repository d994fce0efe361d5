// Panels of an H-matrix's product, which GPUs multiply, computed here by one thread: against all entries of what is stored.
#include "sordino/hmatrix/panels.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "check.hpp"
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
template <class Functor>
void run(const Panels& panels, i32 begin, i32 end, const double* operand, double* result, bool by_block = false) {
  std::vector<double> values(std::size_t(panels.values), nowhere);
  for (std::size_t p = 0; p < panels.panels.size(); p++) panels.fill(i32(p), values.data() + panels.panels[p].values);
  Functor f = {};
  f.tasks = panels.tasks.data();
  f.panels = panels.panels.data();
  f.runs = panels.runs.data();
  f.results = panels.results.empty() ? nullptr : panels.results.data();
  f.values = values.data();
  f.operand.p = operand;
  f.result.p = result;
  for (i32 t = begin; t < end; t++) by_block ? run_by_block(f, t) : f.row(t);
}

/// Rows of H x, in the tree's order, with x as a rank stores it: its own rows, and the others behind them.
std::vector<double> product(const HMatrix& H, RowRange rows, const std::vector<double>& x, bool by_block = false) {
  const i32 n = i32(H.size());
  const Places places{rows.begin, rows.size()};
  std::vector<double> stored(x.size()), y(std::size_t(rows.size()), nowhere);
  for (i32 i = 0; i < n; i++) stored[std::size_t(places.of(i))] = x[std::size_t(i)];
  const Terms terms(H, rows);
  const TermPanels project(terms, n, places, rows);
  const StripPanels strips(H, terms, rows, 0);
  std::vector<double> z(std::size_t(n + terms.count), nowhere);
  run<PanelRows<Access::ghost>>(project, 0, i32(project.tasks.size()), stored.data(), z.data(), by_block);
  run<PanelRows<Access::read>>(strips, 0, i32(strips.tasks.size()), z.data(), y.data(), by_block);
  return y;
}

HMatrix matrix(int m0, int M, const BuildOptions& options) {
  const bem::Laplace laplace(surfaces::sphere(m0, M).view());
  return HMatrix(laplace, options);
}

}  // namespace

TEST("panels multiply what is stored, and any cut of the rows has the same bits") {
  NOTE(fresh::said());
  fresh::Random random(70);
  for (auto [m0, M, leaf] : {std::tuple{3, 1, 15}, {3, 4, 15}, {7, 9, 15}, {6, 10, 40}, {11, 13, 8}}) {
    const HMatrix H = matrix(m0, M, {.compression = {.eps = 1e-5}, .leaf = leaf});
    const i32 n = i32(H.size());
    NOTE("n = ", n, ", leaves of ", leaf);
    const auto x = random.normals(n), exact = dense::times(dense::of(H), x);
    const auto whole = product(H, {0, n}, x);
    CHECK(dense::distance(whole, exact) <= 1e-14 * dense::norm(exact));
    for (int k = 0; k < 4; k++) {
      const i32 cut = i32(random.whole(1, n - 1));
      auto parts = product(H, {0, cut}, x);
      for (double y : product(H, {cut, n}, x)) parts.push_back(y);
      NOTE("cut at ", cut);
      CHECK(same_bits(parts, whole));
    }
  }
}

TEST("a block's threads share panels so that each value is multiplied once") {
  NOTE(fresh::said());
  fresh::Random random(72);
  for (auto [m0, M] : {std::pair{3, 1}, {7, 9}, {12, 16}}) {
    const HMatrix H = matrix(m0, M, {.compression = {.eps = 1e-5}});
    const i32 n = i32(H.size());
    NOTE("n = ", n);
    const auto x = random.normals(n), alone = product(H, {0, n}, x);
    CHECK(dense::distance(product(H, {0, n}, x, true), alone) <= 1e-14 * dense::norm(alone));
  }
}

TEST("panels hold each stored value once, and large tasks come first") {
  const HMatrix H = matrix(9, 14, {.compression = {.eps = 1e-6}});
  const i32 n = i32(H.size());
  const Terms terms(H, {0, n});
  const TermPanels project(terms, n, {0, n}, {0, n});
  const StripPanels strips(H, terms, {0, n}, 0);
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
}

TEST("early tasks of panels read own rows alone") {
  fresh::Random random(71);
  NOTE(fresh::said());
  const HMatrix H = matrix(7, 12, {.compression = {.eps = 1e-4}});
  const i32 n = i32(H.size());
  const RowRange own{n / 3, n / 3 + n / 2};
  const Terms terms(H, own);
  const TermPanels project(terms, n, {own.begin, own.size()}, own);
  std::vector<double> x = random.normals(n), z(std::size_t(n + terms.count), 7.25);
  std::fill(x.begin() + own.size(), x.end(), nowhere);
  run<PanelRows<Access::ghost>>(project, 0, project.early, x.data(), z.data());
  for (double value : z) CHECK(!std::isnan(value));
  run<PanelRows<Access::ghost>>(project, project.early, i32(project.tasks.size()), x.data(), z.data());
  i64 awaited = 0;
  for (double value : z) awaited += std::isnan(value);
  CHECK(awaited > n - own.size());  // the others' rows of x, and terms of them
  CHECK(awaited < i64(z.size()) - own.size());
  for (double value : z) CHECK(value != 7.25);
}
