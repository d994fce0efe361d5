// The door to triangular solves: all ways and types, refinement, new values, statistics, and what is refused.
#include "sordino/api/triangular.hpp"

#include <cmath>
#include <thread>
#include <utility>

#include "check.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;
using triangles::Columns;

constexpr How ways[] = {How::plain, How::transposed, How::adjoint};

template <class V>
double rounding() {
  return std::is_same_v<V, float> ? 1.2e-7 : 2.3e-16;
}

/// x by substitution, in the arithmetic of V.
template <class V>
std::vector<V> substituted(const TriangleView<V>& L, How how, std::vector<V> x) {
  const LowerPattern& p = L.pattern;
  auto entry = [&](i64 k) { return how == How::adjoint ? conjugate(L.values[k]) : L.values[k]; };
  for (i64 step = 0; step < p.n; step++) {
    const i64 j = how == How::plain ? step : p.n - 1 - step;
    V& xj = x[std::size_t(j)];
    V pivot{1};
    for (i64 k = p.begin[j]; k < p.begin[j + 1]; k++) {
      if (p.rows[k] == j)
        pivot = L.unit ? V{1} : entry(k);
      else if (how != How::plain)
        xj = xj - entry(k) * x[std::size_t(p.rows[k])];
    }
    xj = xj * reciprocal(pivot);
    for (i64 k = p.begin[j]; how == How::plain && k < p.begin[j + 1]; k++)
      if (p.rows[k] != j) x[std::size_t(p.rows[k])] = x[std::size_t(p.rows[k])] - entry(k) * xj;
  }
  return x;
}

template <class V>
void check_accuracy(const Columns& c, fresh::Random& random) {
  const auto values = triangles::values_of<V>(c, random);
  const TriangleView<V> L{c.pattern(), values.data(), random.chance(0.3)};
  TriangularSolver<V> solver(L, {.threads = 2, .width = i32(random.whole(1, 300))});
  const auto b = triangles::vector_of<V>(c.n, random);
  for (How how : ways) {
    NOTE("n = ", c.n, ", way ", int(how));
    std::vector<V> x(b.size());
    solver.solve(b.data(), x.data(), 1, how);
    const double by_blocks = backward_errors(L, how, b.data(), x.data())[0];
    const double by_rows = backward_errors(L, how, b.data(), substituted(L, how, b).data())[0];
    CHECK(by_blocks <= 10 * std::max(by_rows, rounding<V>()));
    const Refinement done = solver.refine(L, b.data(), x.data(), 1, how, 2);
    CHECK(done.errors.front() == by_blocks);
    CHECK(done.errors.back() <= by_blocks);
    CHECK(done.steps() <= 2);
    CHECK(backward_errors(L, how, b.data(), x.data())[0] == done.errors.back());
  }
}

/// Inverting this block loses digits: its columns grow towards the last row.
Columns dense(i64 n) {
  std::vector<std::vector<i32>> below(std::size_t(n), std::vector<i32>{});
  for (i64 j = 0; j < n; j++)
    for (i64 i = j + 1; i < n; i++) below[std::size_t(j)].push_back(i32(i));
  return triangles::columns_of(below);
}

}  // namespace

TEST("with inverted blocks the backward error is within ten times that of substitution, in all ways and types") {
  NOTE(fresh::said());
  fresh::Random random(21);
  auto all = triangles::some(random, 8);
  all.push_back(triangles::with_fill(triangles::nested_grid(9, 8, 7)));
  for (const Columns& c : all) {
    check_accuracy<double>(c, random);
    check_accuracy<float>(c, random);
    check_accuracy<Number>(c, random);
  }
}

TEST("refinement brings back the digits that inverting an ill-conditioned block has lost, and it is known that it must") {
  NOTE(fresh::said());
  fresh::Random random(22);
  const Columns c = dense(20);
  std::vector<double> values;  // of a matrix like Kahan's, whose inverse grows by a factor of 2 from row to row
  for (i64 j = 0; j < c.n; j++)
    for (i64 k = c.begin[std::size_t(j)]; k < c.begin[std::size_t(j) + 1]; k++)
      values.push_back(c.rows[std::size_t(k)] == j ? random.real(0.5, 1) : -1);
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L);
  const std::vector<double> zero(std::size_t(c.n), 0), minus_one(zero.size(), -1);  // L * 1 is small, its inverse is not
  std::vector<double> b(zero.size()), x(zero.size());
  residual(L, How::plain, zero.data(), minus_one.data(), b.data());
  solver.solve(b.data(), x.data());
  const Refinement done = solver.refine(L, b.data(), x.data(), 1, How::plain, 5);
  CHECK(done.errors.front() > 100 * done.errors.back());
  CHECK(done.errors.back() < 1e-15);
  for (How how : ways) CHECK(solver.refinements_wanted(L, how) > 0);
  for (double& value : values)
    if (value == -1) value = -1e-3;
  solver.update(L);
  for (How how : ways) CHECK(solver.refinements_wanted(L, how) == 0);
}

TEST("a step of refinement that does not lessen the error is taken back") {
  const Columns c = triangles::columns_of({{1}, {}});
  const std::vector<double> values{2, 1, 4}, b{2, 5};
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L);
  std::vector<double> x(2);
  solver.solve(b.data(), x.data());
  CHECK((x == std::vector<double>{1, 1}));  // exact: nothing is left to gain
  const Refinement done = solver.refine(L, b.data(), x.data(), 1, How::plain, 3);
  CHECK(done.steps() == 0);
  CHECK((done.errors == std::vector<double>{0}));
  CHECK((x == std::vector<double>{1, 1}));
}

TEST("a solver has the same bits on all ranks and threads, in place too, and its plans are made when they are needed") {
  NOTE(fresh::said());
  fresh::Random random(23);
  const Columns c = triangles::with_fill(triangles::nested_grid(12, 11, 5));
  const auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  const auto b = triangles::vector_of<double>(c.n * 3, random);
  std::vector<double> first;
  for (int ranks : {1, 2, 3})
    for (int threads : {1, 4}) {
      TriangularSolver<double> solver(L, {.ranks = ranks, .threads = threads, .width = 32});
      CHECK(solver.statistics().forward_tasks == 0);
      CHECK(solver.statistics().plan_seconds == 0);
      auto x = b;
      solver.solve(x.data(), x.data(), 3);
      if (first.empty()) first = x;
      CHECK(x == first);
      const TriangularStatistics s = solver.statistics();
      CHECK(s.forward_tasks > 0);
      CHECK(s.backward_tasks == 0);
      CHECK(s.plan_seconds > 0);
      CHECK(s.ranks == ranks);
      CHECK(s.threads == std::max(ranks, threads));
    }
}

TEST("statistics count blocks, their longest chain, entries with and without zeros, and memory") {
  const Columns c = dense(10);
  const std::vector<double> values(c.rows.size(), 1);
  TriangularSolver<double> solver({c.pattern(), values.data()}, {.width = 4});
  TriangularStatistics s = solver.statistics();
  CHECK(s.n == 10);
  CHECK(s.entries == 55);
  CHECK(s.stored_entries == 55);
  CHECK(s.blocks == 3);  // one supernode of 10 columns
  CHECK(s.longest_chain == 3);
  CHECK(s.stored_bytes >= 55 * 8);
  CHECK(s.memory_bytes > s.stored_bytes);
  std::vector<double> x(10, 1);
  solver.solve(x.data(), x.data());
  CHECK(solver.statistics().memory_bytes > s.memory_bytes);
  const Columns apart = triangles::columns_of({{}, {2}, {}});  // merged, or their own: never more than there are
  TriangularSolver<double> small({apart.pattern(), values.data()});
  CHECK(small.statistics().entries == 4);
  CHECK(small.statistics().stored_entries >= 4);
}

TEST("new values keep the plans; what is refused leaves the old ones") {
  NOTE(fresh::said());
  fresh::Random random(24);
  const Columns c = triangles::grid(5, 5, 5);
  auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L);
  const auto b = random.normals(c.n);
  std::vector<double> x(b.size()), again(b.size());
  solver.solve(b.data(), x.data());
  const double planned = solver.statistics().plan_seconds;
  for (double& v : values) v *= 4;
  solver.update(L);
  solver.solve(b.data(), again.data());
  for (std::size_t i = 0; i < x.size(); i++) CHECK(again[i] == x[i] / 4);
  CHECK(solver.statistics().plan_seconds == planned);
  values[0] = 0;
  CHECK_THROWS(solver.update(L), Error, "the pivot of row 0 is zero");
  solver.solve(b.data(), x.data());
  CHECK(x == again);
}

TEST("engine processes keeps old values where new ones are refused, and rows where inverses of the new ones lose too much") {
  NOTE(fresh::said());
  fresh::Random random(27);
  const Columns c = dense(30);
  const auto values = triangles::values_of<double>(c, random);
  const auto b = triangles::vector_of<double>(c.n, random);
  TriangularSolver<double> solver({c.pattern(), values.data()}, {.engine = "processes", .ranks = 2, .width = 8, .timeout = 20});
  std::vector<double> wanted(b.size()), x(b.size());
  solver.solve(b.data(), wanted.data());
  auto others = values;
  const TriangleView<double> L{c.pattern(), others.data()};
  auto refuses_a_zero = [&] {
    const double kept = std::exchange(others[0], 0);
    CHECK_THROWS(solver.update(L), Error, "the pivot of row 0 is zero");
    others[0] = kept;
    solver.solve(b.data(), x.data());
    CHECK(x == wanted);
  };
  refuses_a_zero();
  CHECK(!solver.statistics().by_rows);
  others[std::size_t(c.begin[12])] *= 1e-30;
  solver.update(L);
  CHECK(solver.statistics().by_rows);
  TriangularSolver<double> alone(L, {.threads = 1});
  REQUIRE(alone.statistics().by_rows);
  for (How how : ways) {
    solver.solve(b.data(), x.data(), 1, how);
    alone.solve(b.data(), wanted.data(), 1, how);
    CHECK(x == wanted);
  }
  alone.solve(b.data(), wanted.data());
  refuses_a_zero();
}

TEST("several threads take turns with one solver") {
  NOTE(fresh::said());
  fresh::Random random(25);
  const Columns c = triangles::grid(6, 6, 6);
  const auto values = triangles::values_of<double>(c, random);
  TriangularSolver<double> solver({c.pattern(), values.data()}, {.threads = 2});
  const auto b = random.normals(c.n);
  std::vector<double> wanted(b.size());
  solver.solve(b.data(), wanted.data());
  std::vector<int> right(4, 0);
  std::vector<std::thread> users;
  for (int k = 0; k < 4; k++)
    users.emplace_back([&, k] {
      std::vector<double> x(b.size());
      for (int turn = 0; turn < 20; turn++) {
        solver.solve(b.data(), x.data(), 1, turn % 2 ? How::transposed : How::plain);
        right[std::size_t(k)] += turn % 2 || x == wanted;
      }
    });
  for (auto& user : users) user.join();
  for (int r : right) CHECK(r == 20);
}

TEST("options that cannot be are refused in one sentence") {
  const Columns c = triangles::columns_of({{1}, {}});
  const std::vector<double> values{1, 1, 1};
  const TriangleView<double> L{c.pattern(), values.data()};
  auto refused = [&](const TriangularOptions& options, const char* part) {
    CHECK_THROWS((TriangularSolver<double>(L, options)), Error, part);
  };
  refused({.engine = "abacus"}, "engine host, processes, cuda or model, not by 'abacus'");
  refused({.ranks = -1}, "1 to 32 ranks, and -1");
  refused({.engine = "processes", .ranks = 0}, "1 to 32 ranks, and 0");
  refused({.algorithm = "theirs"}, "ours or paper, not 'theirs'");
  refused({.layout_rows = 2, .layout_columns = 1}, "a layout is of algorithm paper");
  refused({.algorithm = "paper", .layout_rows = 2}, "a layout is of algorithm paper, P x Q with at most 32 ranks");
  refused({.algorithm = "paper", .layout_rows = 33, .layout_columns = 1}, "at most 32 ranks");
  refused({.ranks = 2}, "more ranks, 2, than the triangle has blocks, 1");
  refused({.blocks = 2}, "blocks are thread blocks of engine cuda and algorithm ours, and this is engine host");
  refused({.blocks = -1}, "blocks are 0 to 65536, not -1");
  refused({.threads = -1}, "threads is at least 0, not -1");
  refused({.width = 0}, "one column or more");
  TriangularSolver<double> solver(L);
  double x = 0;
  CHECK_THROWS(solver.solve(&x, &x, 0), Error, "one right-hand side or more");
}

TEST("engines without GPUs, and the paper's algorithm, solve for no vectors there, and have nothing to settle") {
  const Columns c = triangles::grid(3, 3, 3);
  const std::vector<double> values(c.rows.size(), 1.0), b(std::size_t(c.n), 1.0);
  std::vector<double> x(b.size());
  for (const TriangularOptions& o : std::vector<TriangularOptions>{{}, {.engine = "model"}, {.algorithm = "paper"}}) {
    TriangularSolver<double> solver({c.pattern(), values.data()}, o);
    solver.settle();
    CHECK_THROWS(solver.solve_there(b.data(), x.data(), 1, How::plain, {}), Error, "by engine cuda, and by our own algorithm");
    CHECK_THROWS(solver.solve_there(b.data(), x.data(), 0, How::plain, {}), Error, "one right-hand side or more");
    solver.solve(b.data(), x.data());
    solver.settle();
  }
}

TEST("a triangle whose supernodes would store too many zeros is kept by rows, and is solved in all ways and types, unrefined") {
  NOTE(fresh::said());
  fresh::Random random(26);
  const Columns c = triangles::grid(14, 13, 12);  // as of an ILU(0): its whole factor has 50 entries for each of its own
  auto values = triangles::values_of<double>(c, random);
  const TriangleView<double> L{c.pattern(), values.data()};
  TriangularSolver<double> solver(L, {.ranks = 2, .threads = 2});
  TriangularStatistics s = solver.statistics();
  CHECK(s.by_rows);
  CHECK(s.blocks == 0);
  CHECK(s.stored_entries == i64(c.rows.size()));
  CHECK(s.stored_bytes == 8 * i64(c.rows.size()));
  CHECK(s.longest_chain == 14 + 13 + 12 - 2);
  for (How how : ways) CHECK(solver.refinements_wanted(L, how) == 0);
  const auto b = random.normals(c.n);
  std::vector<double> x(b.size()), modelled(b.size());
  for (How how : ways) {
    TriangularSolver<double> model(L, {.engine = "model", .ranks = 3, .seed = 5});
    solver.solve(b.data(), x.data(), 1, how);
    model.solve(b.data(), modelled.data(), 1, how);
    CHECK(modelled == x);
    CHECK(model.statistics().modelled_seconds > 0);
  }
  CHECK(solver.statistics().memory_bytes > s.memory_bytes);
  CHECK(solver.statistics().backward_tasks > 0);
  check_accuracy<double>(c, random);
  check_accuracy<float>(c, random);
  check_accuracy<Number>(c, random);
  std::vector<double> again(b.size());
  solver.solve(b.data(), x.data());
  for (double& v : values) v *= 4;
  solver.update(L);
  solver.solve(b.data(), again.data());
  for (std::size_t i = 0; i < x.size(); i++) CHECK(again[i] == x[i] / 4);
  const Columns whole = triangles::with_fill(triangles::grid(5, 4, 3));
  const std::vector<double> of_whole = triangles::values_of<double>(whole, random);
  CHECK(!TriangularSolver<double>({whole.pattern(), of_whole.data()}).statistics().by_rows);
}

TEST("a seed makes tasks of the host late, by blocks and by rows, and changes no bits") {
  NOTE(fresh::said());
  fresh::Random random(28);
  for (const Columns& c : {triangles::with_fill(triangles::nested_grid(8, 8, 8)), triangles::grid(14, 13, 12)}) {
    const auto values = triangles::values_of<double>(c, random);
    const TriangleView<double> L{c.pattern(), values.data()};
    const auto b = random.normals(c.n);
    for (How how : ways) {
      TriangularOptions options{.threads = 1, .width = 1};
      TriangularSolver<double> prompt(L, options);
      options.seed = u64(random.whole(1, i64(1) << 60));
      TriangularSolver<double> late(L, options);
      std::vector<double> wanted(b.size()), x(b.size());
      prompt.solve(b.data(), wanted.data(), 1, how);
      late.solve(b.data(), x.data(), 1, how);  // plans
      const TriangularStatistics s = late.statistics();
      const i64 tasks = how == How::plain ? s.forward_tasks : s.backward_tasks;
      NOTE(tasks, " tasks");
      const int solves = int(2 + 4000 / tasks);
      const double begin = seconds_now();
      for (int k = 0; k < solves; k++) {
        late.solve(b.data(), x.data(), 1, how);
        CHECK(x == wanted);
      }
      CHECK(seconds_now() - begin > 0.5 * 12.5e-6 * double(solves * tasks));  // tasks take a tenth of that
      options.threads = 5;
      options.ranks = 3;
      TriangularSolver<double> several(L, options);
      several.solve(b.data(), x.data(), 1, how);
      CHECK(x == wanted);
    }
  }
}

TEST("a triangle that is kept by rows needs as many of them as ranks, and a width that blocks could have") {
  const Columns arrow = triangles::columns_of([] {  // points the wrong way: its factor would be full
    std::vector<std::vector<i32>> below(31, std::vector<i32>{});
    for (i32 i = 1; i < 31; i++) below[0].push_back(i);
    return below;
  }());
  const std::vector<double> values(arrow.rows.size(), 1.0);
  const TriangleView<double> L{arrow.pattern(), values.data()};
  CHECK(TriangularSolver<double>(L).statistics().by_rows);
  CHECK_THROWS((TriangularSolver<double>(L, {.ranks = 32})), Error, "more ranks, 32, than the triangle has rows, 31");
  CHECK_THROWS((TriangularSolver<double>(L, {.width = 0})), Error, "one column or more");
}
