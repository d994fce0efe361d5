// Plans and supernodes as arrays: they come back to the bit, and whatever else arrays hold is refused or solved with rightly.
#include "sordino/trsv/saved_plans.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/api/triangular.hpp"
#include "sordino/base/error.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

struct Case {
  triangles::Columns c;
  std::vector<double> values, b;
  TriangleView<double> L() const { return {c.pattern(), values.data()}; }
  TriangularOptions options(int ranks, const SavedPlans* plans = nullptr) const {
    TriangularOptions o;
    o.ranks = ranks;
    o.threads = 2;
    o.width = 12;
    o.timeout = 5;
    o.plans = plans;
    return o;
  }
  std::vector<double> solved(TriangularSolver<double>& by, How how) const {
    std::vector<double> x(b.size(), unknown<double>());
    by.solve(b.data(), x.data(), 1, how);
    return x;
  }
};

Case grid(fresh::Random& random) {
  Case k{
      triangles::with_fill(triangles::nested_grid(i32(random.whole(5, 9)), i32(random.whole(5, 9)), i32(random.whole(2, 5)))),
      {},
      {}};
  k.values = triangles::values_of<double>(k.c, random);
  k.b = triangles::vector_of<double>(k.c.n, random);
  return k;
}

constexpr How ways[] = {How::plain, How::transposed};

/// Something of one array is another number, is gone, or stands twice.
template <class T>
void spoil(std::vector<T>& array, fresh::Random& random) {
  if (array.empty()) return array.push_back(T(random.whole(0, 3)));
  const std::size_t at = std::size_t(random.whole(0, i64(array.size()) - 1));
  const i64 way = random.whole(0, 5);
  if (way == 0) array[at] = T(random.whole(-3, 3));
  if (way == 1) array[at] = T(array[at] + T(random.chance(0.5) ? 1 : -1));
  if (way == 2) array[at] = T(random.whole(-(i64(1) << 31), (i64(1) << 31) - 1));
  if (way == 3) array.erase(array.begin() + i64(at));
  if (way == 4) array.insert(array.begin() + i64(at), array[at]);
  if (way == 5) std::swap(array[at], array[std::size_t(random.whole(0, i64(array.size()) - 1))]);
}

}  // namespace

TEST("supernodes and plans come back as they were, with the same bits, and none are made anew") {
  NOTE(fresh::said());
  fresh::Random random(71);
  for (int ranks : {1, 2, 3}) {
    const Case k = grid(random);
    TriangularSolver<double> first(k.L(), k.options(ranks));
    std::vector<std::vector<double>> wanted;
    for (How how : ways) wanted.push_back(k.solved(first, how));
    SavedPlans saved = first.saved_plans();
    const Supernodes found = find_supernodes(k.c.pattern());
    CHECK(saved.nodes.order == found.order);
    CHECK(saved.nodes.column == found.column);
    CHECK(saved.nodes.parent == found.parent);
    CHECK(saved.nodes.row_begin == found.row_begin);
    CHECK(saved.nodes.rows == found.rows);
    saved.backward.seconds = {42};  // what is taken back is told by that
    TriangularSolver<double> second(k.L(), k.options(ranks, &saved));
    CHECK(second.statistics().forward_tasks == first.statistics().forward_tasks);
    CHECK(second.statistics().backward_tasks == first.statistics().backward_tasks);
    for (int w = 0; w < 2; w++) CHECK(k.solved(second, ways[w]) == wanted[std::size_t(w)]);
    SavedPlans again = second.saved_plans();
    CHECK(again.backward.seconds[0] == 42);
    CHECK(again.forward.tasks == saved.forward.tasks);
    CHECK(again.backward.needs == saved.backward.needs);
    CHECK(again.facts == saved.facts);
    CHECK(again.nodes.rows == saved.nodes.rows);
  }
}

TEST("only what was planned is saved") {
  NOTE(fresh::said());
  fresh::Random random(72);
  const Case k = grid(random);
  TriangularSolver<double> first(k.L(), k.options(2));
  CHECK(first.saved_plans().forward.tasks.empty());
  CHECK(first.saved_plans().backward.tasks.empty());
  const auto wanted = k.solved(first, How::plain);
  const SavedPlans saved = first.saved_plans();
  CHECK(!saved.forward.tasks.empty());
  CHECK(saved.backward.tasks.empty());
  TriangularSolver<double> second(k.L(), k.options(2, &saved));
  CHECK(second.statistics().backward_tasks == 0);
  CHECK(k.solved(second, How::transposed) == k.solved(first, How::transposed));
}

TEST("of a triangle by rows the fact alone is saved, and is taken for it by every engine") {
  NOTE(fresh::said());
  fresh::Random random(76);
  Case k{triangles::grid(11, 10, 12), {}, {}};  // without fill
  k.values = triangles::values_of<double>(k.c, random);
  k.b = triangles::vector_of<double>(k.c.n, random);
  TriangularSolver<double> first(k.L(), k.options(2));
  CHECK(first.statistics().by_rows);
  std::vector<std::vector<double>> wanted;
  for (How how : ways) wanted.push_back(k.solved(first, how));
  const SavedPlans saved = first.saved_plans();
  each_array(saved, [](const std::string& name, const auto& array) { CHECK(array.empty() == (name != "facts")); });
  for (const char* engine : {"host", "model"}) {
    TriangularOptions options = k.options(2, &saved);
    options.engine = engine;
    TriangularSolver<double> second(k.L(), options);
    CHECK(second.statistics().by_rows);
    for (int w = 0; w < 2; w++) CHECK(k.solved(second, ways[w]) == wanted[std::size_t(w)]);
    CHECK(second.saved_plans().facts == saved.facts);
  }
}

TEST("plans of a triangle that its values alone keep by rows are not saved") {
  NOTE(fresh::said());
  fresh::Random random(77);
  Case k = grid(random);
  const auto plain = k.values;
  const std::size_t pivot = std::size_t(k.c.begin[std::size_t(k.c.n - 3)]);  // in the last block, which is dense
  k.values[pivot] *= 1e-30;
  TriangularSolver<double> first(k.L(), k.options(1));
  REQUIRE(first.statistics().by_rows);
  const char* said = "the triangle is kept by rows because of its values, and plans are of the pattern alone";
  CHECK_THROWS(first.saved_plans(), Error, said);
  k.values = plain;
  TriangularSolver<double> second(k.L(), k.options(1));
  k.solved(second, How::plain);
  CHECK(!second.saved_plans().forward.tasks.empty());
  k.values[pivot] *= 1e-30;
  second.update(k.L());
  CHECK_THROWS(second.saved_plans(), Error, said);
  k.values = plain;
  second.update(k.L());  // rows they stay
  CHECK_THROWS(second.saved_plans(), Error, said);
}

TEST("a file's word decides whether a triangle is kept by rows, and half a word is refused") {
  NOTE(fresh::said());
  fresh::Random random(77);
  const Case k = grid(random);
  TriangularSolver<double> by_blocks(k.L(), k.options(1));
  k.solved(by_blocks, How::plain);
  SavedPlans facts;
  facts.facts = by_blocks.saved_plans().facts;
  TriangularSolver<double> by_rows(k.L(), k.options(1, &facts));
  CHECK(!by_blocks.statistics().by_rows);
  CHECK(by_rows.statistics().by_rows);
  for (How how : ways) {
    const auto x = k.solved(by_rows, how), y = k.solved(by_blocks, how);
    for (std::size_t i = 0; i < x.size(); i++) CHECK(std::abs(x[i] - y[i]) <= 1e-9 * (1 + std::abs(y[i])));
  }
  SavedPlans half = by_blocks.saved_plans();
  half.nodes = {};
  CHECK_THROWS((TriangularSolver<double>(k.L(), k.options(1, &half))), Error,
               "no supernodes, and forward_tasks nevertheless: make new plans");
  half = facts;
  half.nodes.parent = {no_parent};
  CHECK_THROWS((TriangularSolver<double>(k.L(), k.options(1, &half))), Error, "no supernodes, and parent nevertheless");
}

TEST("plans of something else are refused in a sentence that says what to do") {
  NOTE(fresh::said());
  fresh::Random random(73);
  const Case k = grid(random);
  TriangularSolver<double> first(k.L(), k.options(2));
  k.solved(first, How::plain);
  const SavedPlans saved = first.saved_plans();
  auto make = [](const Case& with, TriangularOptions options) { TriangularSolver<double> again(with.L(), options); };
  CHECK_THROWS((make(k, k.options(3, &saved))), Error, "ranks = 2, not 3: ask for that, or make new plans");
  TriangularOptions wide = k.options(2, &saved);
  wide.width = 13;
  CHECK_THROWS((make(k, wide)), Error, "width = 12, not 13: ask for that");
  Case other = k;
  other.c = triangles::with_fill(triangles::nested_grid(4, 4, 4));
  other.values = triangles::values_of<double>(other.c, random);
  CHECK_THROWS((make(other, k.options(2, &saved))), Error, "another pattern: make new plans");
  SavedPlans sizes = saved;
  sizes.facts[5]++;
  CHECK_THROWS((make(k, k.options(2, &sizes))), Error, "tasks of other sizes");
  const std::vector<float> single(k.values.begin(), k.values.end());
  const TriangleView<float> narrow{k.c.pattern(), single.data()};
  CHECK_THROWS((TriangularSolver<float>(narrow, k.options(2, &saved))), Error, "bytes = 8, not 4");
  TriangularOptions threads = k.options(2, &saved);
  threads.threads = 3;
  threads.engine = "model";
  TriangularSolver<double> elsewhere(k.L(), threads);
  CHECK(k.solved(elsewhere, How::plain) == k.solved(first, How::plain));
}

TEST("a plan with a task too large for a GPU's memory is refused, though it would be right on a host") {
  NOTE(fresh::said());
  fresh::Random random(74);
  const Case k = grid(random);
  const Blocks blocks = cut(find_supernodes(k.c.pattern()), 12);
  PlanOptions large;
  large.subtree_bytes = 1 << 30;
  large.subtree_blocks = 1 << 30;
  const Plan plan = make_plan(blocks, Direction::forward, 8, large);
  CHECK(restored(saved(plan), blocks, Direction::forward, 8, large)->count() == plan.count());
  PlanOptions small;
  small.subtree_bytes = 1000;
  CHECK_THROWS((restored(saved(plan), blocks, Direction::forward, 8, small)), Error, "too large");
}

TEST("supernodes whose subtrees are not consecutive are refused") {
  const auto c = triangles::columns_of({{2}, {3}, {3}, {}});
  const Supernodes apart{.n = 4,
                         .order = {0, 1, 2, 3},
                         .column = {0, 1, 2, 3, 4},
                         .row_begin = {0, 1, 2, 3, 3},
                         .rows = {2, 3, 3},
                         .parent = {2, 3, 3, no_parent}};
  CHECK_THROWS((check_supernodes(c.pattern(), apart)), Error, "not consecutive: make new plans");
  Supernodes together = apart;
  together.order = {1, 0, 2, 3};
  together.rows = {3, 2, 3};
  together.parent = {3, 2, 3, no_parent};
  check_supernodes(c.pattern(), together);
}

TEST("spoilt arrays are refused, or solved with rightly, in 600 cases") {
  NOTE(fresh::said());
  fresh::Random random(75);
  int refused = 0;
  for (int round = 0; round < 20; round++) {
    const Case k = grid(random);
    const int ranks = int(random.whole(1, 3));
    TriangularSolver<double> first(k.L(), k.options(ranks));
    std::vector<std::vector<double>> wanted;
    for (How how : ways) wanted.push_back(k.solved(first, how));
    const SavedPlans good = first.saved_plans();
    for (int trial = 0; trial < 30; trial++) {
      SavedPlans bad = good;
      i64 which = random.whole(0, 17);
      std::string spoilt;
      each_array(bad, [&](const std::string& name, auto& array) {
        if (which-- != 0) return;
        spoilt = name;
        spoil(array, random);
      });
      NOTE("ranks = ", ranks, ", spoilt ", spoilt, ", round ", round, ", trial ", trial);
      try {
        TriangularSolver<double> second(k.L(), k.options(ranks, &bad));
        for (int w = 0; w < 2; w++) {
          const auto x = k.solved(second, ways[w]);
          for (std::size_t i = 0; i < x.size(); i++)
            CHECK(std::abs(x[i] - wanted[std::size_t(w)][i]) <= 1e-9 * (1 + std::abs(wanted[std::size_t(w)][i])));
        }
      } catch (const Error& wrong) {
        refused++;
        CHECK(wrong.code() == Errc::bad_argument);
        CHECK(std::string(wrong.what()).find("plans") != std::string::npos);
      }
    }
  }
  CHECK(refused > 300);
}
