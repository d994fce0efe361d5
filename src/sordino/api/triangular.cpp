#include "sordino/api/triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "sordino/api/triangular_runner.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/trsv/level_plan.hpp"

namespace sordino {
namespace {

using namespace trsv;

const TriangularOptions& checked(const TriangularOptions& options) {
  require_triangular_engine(options.engine);
  if (options.ranks < 1 || options.ranks > most_ranks)
    bad_argument("a triangular solve has 1 to " + std::to_string(most_ranks) + " ranks, and " + std::to_string(options.ranks) +
                 " were asked for");
  if (options.threads < 0) bad_argument("threads is at least 0, not " + std::to_string(options.threads));
  return options;
}

template <class T>
i64 bytes_of(const std::vector<T>& v) {
  return i64(v.capacity() * sizeof(T));
}

i64 bytes_of(const Blocks& b) {
  return bytes_of(b.order) + bytes_of(b.blocks) + bytes_of(b.parent) + bytes_of(b.first) + bytes_of(b.rows) +
         bytes_of(b.strips) + bytes_of(b.source_begin) + bytes_of(b.sources);
}

i64 bytes_of(const Plan& p) {
  i64 sum = bytes_of(p.tasks) + bytes_of(p.need_begin) + bytes_of(p.needs) + bytes_of(p.readers) + bytes_of(p.owner);
  for (const auto& queue : p.queues) sum += bytes_of(queue);
  return sum;
}

/// Blocks on the longest way from a leaf to a root.
i64 longest_chain(const Blocks& b) {
  std::vector<i32> depth(std::size_t(b.count()), 1);
  i64 most = 0;
  for (std::size_t k = 0; k < depth.size(); k++) {  // children come before their parent
    most = std::max<i64>(most, depth[k]);
    if (b.parent[k] == no_parent) continue;
    i32& above = depth[std::size_t(b.parent[k])];
    above = std::max(above, depth[k] + 1);
  }
  return most;
}

}  // namespace

template <class V>
struct TriangularSolver<V>::State {
  State(const TriangleView<V>& L, const TriangularOptions& given) : options(checked(given)), begun(seconds_now()) {
    if (options.width < 1) bad_argument("a block has one column or more, not " + std::to_string(options.width));
    validate(L);
    entries = L.pattern.begin[L.pattern.n];
    if (is_better_by_rows(L.pattern, sizeof(V)))
      rows.emplace(L);
    else
      factor.emplace(L, FactorOptions{.width = options.width, .threads = options.threads});
    const i64 parts = rows ? L.pattern.n : factor->blocks().count();
    if (options.ranks > parts)
      bad_argument("there are more ranks, " + std::to_string(options.ranks) + ", than the triangle has " +
                   (rows ? "rows, " : "blocks, ") + std::to_string(parts));
    setup_seconds = seconds_now() - begun;
  }

  /// A plan and who carries it out, made when first needed.
  struct Way {
    Plan plan;
    std::unique_ptr<TriangularRunner<V>> runner;
  };
  TriangularRunner<V>& runner(How how) {
    const Direction direction = how == How::plain ? Direction::forward : Direction::backward;
    Way& way = direction == Direction::forward ? forward : backward;
    if (!way.runner) {
      const double start = seconds_now();
      if (rows) {
        rows->prepare(direction);
        way.plan = make_level_plan(rows->rows(direction), {.ranks = options.ranks});
        check_level_plan(rows->rows(direction), way.plan);
        way.runner = make_runner(*rows, way.plan, options);
      } else {
        way.plan = make_plan(factor->blocks(), direction, sizeof(V), plan_options(options));
        check_plan(factor->blocks(), way.plan);
        way.runner = make_runner(*factor, way.plan, options);
      }
      plan_seconds += seconds_now() - start;
    }
    return *way.runner;
  }
  void solve(const V* b, V* x, i64 columns, How how) {
    TriangularRunner<V>& by = runner(how);
    by.solve(b, x, columns, how == How::adjoint);
    modelled_seconds = by.modelled_seconds();
  }

  /// Ends at an error that is small enough, too.
  Refinement refine(const TriangleView<V>& L, const V* b, V* x, i64 columns, How how, int most_steps, double enough) {
    const auto worst = [&](const V* of) {
      const auto errors = backward_errors(L, how, b, of, columns);
      return *std::max_element(errors.begin(), errors.end());
    };
    std::vector<V> better(std::size_t(L.pattern.n * columns));
    Refinement done{{worst(x)}};
    while (done.steps() < most_steps && done.errors.back() > enough) {
      residual(L, how, b, x, better.data(), columns);
      solve(better.data(), better.data(), columns, how);
      for (std::size_t k = 0; k < better.size(); k++) better[k] = x[k] + better[k];
      const double error = worst(better.data());
      if (!(error < done.errors.back())) break;
      std::copy(better.begin(), better.end(), x);
      done.errors.push_back(error);
    }
    return done;
  }

  TriangularOptions options;
  double begun;
  std::optional<Factor<V>> factor;     // either,
  std::optional<LevelFactor<V>> rows;  //   or
  i64 entries = 0;
  double setup_seconds = 0, plan_seconds = 0, modelled_seconds = 0;
  Way forward, backward;
  std::mutex turn;
};

template <class V>
TriangularSolver<V>::TriangularSolver(const TriangleView<V>& L, const TriangularOptions& options)
    : state_(std::make_unique<State>(L, options)) {}

template <class V>
TriangularSolver<V>::~TriangularSolver() = default;

template <class V>
void TriangularSolver<V>::solve(const V* b, V* x, i64 columns, How how) {
  if (columns < 1) bad_argument("a triangular system has one right-hand side or more");
  const std::lock_guard lock(state_->turn);
  state_->solve(b, x, columns, how);
}

template <class V>
Refinement TriangularSolver<V>::refine(const TriangleView<V>& L, const V* b, V* x, i64 columns, How how, int most_steps) {
  const std::lock_guard lock(state_->turn);
  return state_->refine(L, b, x, columns, how, most_steps, 0);
}

template <class V>
int TriangularSolver<V>::refinements_wanted(const TriangleView<V>& L, How how) {
  if (state_->rows) return 0;  // as exact as substitution is
  constexpr i64 columns = 8;
  const double rounding = std::is_same_v<V, float> ? std::numeric_limits<float>::epsilon() / 2 : 0x1p-53;
  const std::lock_guard lock(state_->turn);
  std::vector<V> b(std::size_t(L.pattern.n * columns)), x(b.size());
  std::vector<V> ones(b.size());
  for (std::size_t k = 0; k < ones.size(); k += columns) ones[k] = V{} - V{1};
  residual(L, how, b.data(), ones.data(), b.data(), columns);  // L * 1
  std::mt19937_64 bits;                                        // the same numbers in every run
  for (std::size_t k = 0; k < b.size(); k++)
    if (k % columns != 0) b[k] = V(std::ldexp(double(bits() >> 11), -52) - 1);
  state_->solve(b.data(), x.data(), columns, how);
  return state_->refine(L, b.data(), x.data(), columns, how, 3, 16 * rounding).steps();
}

template <class V>
void TriangularSolver<V>::update(const TriangleView<V>& L) {
  const std::lock_guard lock(state_->turn);
  const double start = seconds_now();
  state_->rows ? state_->rows->update(L) : state_->factor->update(L);
  for (auto* way : {&state_->forward, &state_->backward})
    if (way->runner) way->runner->update();
  state_->setup_seconds = seconds_now() - start;
}

template <class V>
TriangularStatistics TriangularSolver<V>::statistics() const {
  const std::lock_guard lock(state_->turn);
  const State& s = *state_;
  TriangularStatistics t;
  t.entries = s.entries;
  t.by_rows = s.rows.has_value();
  if (s.rows) {
    const LevelRows& rows = s.rows->rows(Direction::forward);
    t.n = rows.n;
    t.stored_entries = s.rows->entries();
    t.stored_bytes = s.rows->value_bytes();
    t.memory_bytes = t.stored_bytes + s.rows->table_bytes();
    t.longest_chain = rows.levels();
  } else {
    const Blocks& blocks = s.factor->blocks();
    t.n = blocks.n;
    t.stored_entries = blocks.entries;
    t.stored_bytes = s.factor->bytes();
    t.memory_bytes = t.stored_bytes + bytes_of(blocks) + i64(sizeof(i32)) * blocks.n;
    t.blocks = blocks.count();
    t.longest_chain = longest_chain(blocks);
  }
  for (const auto* way : {&s.forward, &s.backward})
    if (way->runner) t.memory_bytes += bytes_of(way->plan) + way->runner->bytes();
  t.forward_tasks = s.forward.plan.count();
  t.backward_tasks = s.backward.plan.count();
  t.ranks = s.options.ranks;
  t.threads = std::max(s.options.ranks, thread_count(s.options.threads));
  t.setup_seconds = s.setup_seconds;
  t.plan_seconds = s.plan_seconds;
  t.modelled_seconds = s.modelled_seconds;
  return t;
}

template class TriangularSolver<float>;
template class TriangularSolver<double>;
template class TriangularSolver<Number>;

}  // namespace sordino
