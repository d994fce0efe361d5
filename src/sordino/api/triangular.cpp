#include "sordino/api/triangular.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "sordino/api/engines.hpp"
#include "sordino/api/triangular_facts.hpp"
#include "sordino/api/triangular_runner.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/trsv/level_plan.hpp"
#include "sordino/trsv/width_choice.hpp"

namespace sordino {
namespace {

using namespace trsv;

constexpr std::size_t print_fact = 0, width_fact = 3, ranks_fact = 4;  // of facts_of

/// A fact of saved plans that nobody named, such as their ranks; 0 where they do not say one from 1 to `most`.
i32 said_by(const SavedPlans& plans, std::size_t fact, i64 most) {
  const i64 said = plans.facts.size() > fact ? plans.facts[fact] : 0;
  return said >= 1 && said <= most ? i32(said) : 0;
}

void require_parts(int ranks, i64 parts, const char* what) {
  if (ranks > parts)
    bad_argument("there are more ranks, " + std::to_string(ranks) + ", than the triangle has " + what + ", " +
                 std::to_string(parts));
}

}  // namespace

template <class V>
struct TriangularSolver<V>::State {
  State(const TriangleView<V>& L, const TriangularOptions& given) : options(checked(given)), begun(seconds_now()) {
    if (options.engine != "processes") {
      lay_out(L);
      finish(L, has_lost_blocks());
      return;
    }
    Accord accord(all_processes(options.timeout, "factorized"));
    accord.together([&] {
      options.ranks *= accord.count();
      if (options.ranks < 1 || options.ranks > most_ranks)
        bad_argument("a triangular solve has 1 to " + std::to_string(most_ranks) + " ranks, and " +
                     std::to_string(options.ranks) + " of all processes were asked for");
      lay_out(L);
    });
    const bool lost = have_lost_blocks(accord);
    accord.together([&] { finish(L, lost); });
    std::vector<i64> all = facts;
    all.push_back(plan_options(options).workers);  // the order of a plan's tasks goes by them
    all.push_back(plans_print);
    require_same(accord, all);
  }

  /// By blocks or by rows, as the pattern or saved plans have it.
  void lay_out(const TriangleView<V>& L) {
    if (options.width < 1) bad_argument("a block has one column or more, not " + std::to_string(options.width));
    lay_out_valid(validated(L, options.threads));
  }
  void lay_out_valid(const TriangleView<V>& L) {
    sorted = L.pattern.sorted;
    tiny = tiny_pivots(L, options.threads);
    entries = L.pattern.entries();
    if (options.algorithm == "paper") {
      if (options.plans) bad_argument("algorithm paper takes no plans that were saved: leave them out");
      paper.emplace(L, options);
      require_parts(paper_grid(options).ranks(), paper->block_columns(), "block columns");
      return;
    }
    const SavedPlans* plans = options.plans;
    if (plans && options.ranks == 0) options.ranks = said_by(*plans, ranks_fact, most_ranks);
    if (options.choose_width) take_known_width(plans);
    if (plans) plans_print = print_of(*plans);
    facts = facts_of(L.pattern, sizeof(V), options.width, plan_options(options), options.threads);
    if (plans) require_facts(plans->facts, facts);  // then blocks are what this pattern wants
    std::optional<Elimination> elimination;
    if (!plans) elimination = eliminate_up_to(L.pattern, most_filled(L.pattern, sizeof(V)), options.threads);
    FactorOptions how{.threads = options.threads, .print = u64(facts[print_fact]), .is_valid = true};
    if (plans ? are_by_rows(*plans) : !elimination || is_better_by_rows(L.pattern, *elimination, sizeof(V))) {
      rows.emplace(L, how);
    } else {
      how.width = options.width;
      how.nodes = plans ? &plans->nodes : nullptr;
      how.elimination = elimination ? &*elimination : nullptr;
      how.choose_width = width_chooser();
      factor.emplace(L, how);
    }
    facts[width_fact] = options.width;
  }
  /// Leaves the blocks where their inverses have lost too much, and takes saved plans.
  void finish(const TriangleView<V>& L, bool lost) {
    const SavedPlans* plans = std::exchange(options.plans, nullptr);
    if (lost) leave_blocks(L);
    if (rows)
      require_parts(options.ranks, L.pattern.n, "rows");
    else if (factor)
      require_parts(options.ranks, factor->blocks().count(), "blocks");
    setup_seconds = seconds_now() - begun;
    if (!plans || rows) return;
    take(forward, plans->forward, Direction::forward);
    take(backward, plans->backward, Direction::backward);
    plan_seconds = seconds_now() - begun - setup_seconds;
  }

  /// That of saved plans, or where no machine is described the one of hosts.
  void take_known_width(const SavedPlans* plans) {
    const i32 saved = plans ? said_by(*plans, width_fact, std::numeric_limits<i32>::max()) : 0;
    if (saved == 0 && (options.engine == "cuda" || options.engine == "model")) return;
    options.width = saved > 0 ? saved : width_of_hosts;
    options.choose_width = false;
    width_reason =
        "width " + std::to_string(options.width) + (saved > 0 ? ": the plans have it" : ": on a host wider is no faster");
  }
  /// By prediction; none where the width is known.
  std::function<i32(const Supernodes&)> width_chooser() {
    if (!options.choose_width) return {};
    return [this](const Supernodes& nodes) {
      const double start = seconds_now();
      PlanOptions with = plan_options(options);
      with.ranks = std::max(with.ranks, 1);
      const WidthChoice choice = choose_width(nodes, sizeof(V), options.machine, with);
      width_reason = choice.said();
      width_seconds = seconds_now() - start;
      return options.width = choice.width();
    };
  }

  /// A plan and who carries it out, made when first needed.
  struct Way {
    std::optional<Plan> plan;
    std::string reason;  // of its number of ranks, if it was chosen
    std::unique_ptr<TriangularRunner<V>> runner;
  };
  TriangularRunner<V>& runner(How how) {
    const Direction direction = how == How::plain ? Direction::forward : Direction::backward;
    Way& way = direction == Direction::forward ? forward : backward;
    if (!way.runner) {
      const double start = seconds_now();
      if (paper) {
        way.runner = make_runner(*paper, direction, options);
      } else if (rows) {
        rows->prepare(direction);
        if (options.ranks == 0) way.reason = "1 rank: what substitution by levels takes on several is not predicted";
        way.plan = make_level_plan(rows->rows(direction), {.ranks = std::max(options.ranks, 1)});
        check_level_plan(rows->rows(direction), *way.plan, options.threads);
        way.runner = make_runner(*rows, *way.plan, options);
      } else {
        if (!way.plan) {
          way.plan = options.ranks > 0 ? make_plan(factor->blocks(), direction, sizeof(V), plan_options(options))
                                       : chosen_plan(direction, way.reason);
          check_plan(factor->blocks(), *way.plan);
        }
        way.runner = make_runner(*factor, *way.plan, options);
      }
      plan_seconds += seconds_now() - start;
    }
    return *way.runner;
  }
  void take(Way& way, const SavedPlan& saved, Direction direction) {
    way.plan = restored(saved, factor->blocks(), direction, sizeof(V), plan_options(options));
  }
  /// For one right-hand side; one rank is always among those that are compared.
  Plan chosen_plan(Direction direction, std::string& reason) const {
    const int there = std::min({ranks_there(options), most_ranks, int(factor->blocks().count())});
    RanksChoice choice =
        choose_ranks(factor->blocks(), direction, sizeof(V), options.machine, ranks_to_try(there), 1, plan_options(options));
    reason = said_of(choice, there, direction);
    return std::move(choice.plan);
  }
  /// That plans are made for: named, or what each direction that was planned has chosen.
  int planned_ranks() const {
    if (options.ranks > 0) return options.ranks;
    const int one = forward.plan ? forward.plan->ranks : 0, other = backward.plan ? backward.plan->ranks : one;
    if (other == 0 || (one > 0 && one != other))
      throw Error(Errc::unsupported,
                  other == 0 ? "the first solve chooses ranks, and plans are saved after it: or give `ranks`"
                             : "plans are saved for one number of ranks, and each way has chosen its own: give `ranks`");
    return other;
  }
  /// Of a triangle that has values, for so many right-hand sides.
  TriangularRunner<V>& ready(i64 columns, How how) {
    if (columns < 1) bad_argument("a triangular system has one right-hand side or more");
    if (has_no_values)
      throw Error(Errc::unsupported,
                  "the last values of the triangle were refused when the ones before were gone: update it with others first");
    return runner(how);
  }
  void solve(const V* b, V* x, i64 columns, How how) {
    TriangularRunner<V>& by = ready(columns, how);
    by.solve(b, x, columns, how == How::adjoint);
    modelled_seconds = by.modelled_seconds();
  }

  void check_update(const TriangleView<V>& L) const { rows ? rows->check_update(L) : factor->check_update(L); }
  void take_values(const TriangleView<V>& L) {
    begun = seconds_now();
    if (paper)
      paper->update(L);
    else
      rows ? rows->update(L) : factor->update(L);
    tiny = tiny_pivots(L, options.threads);
  }
  void finish_update(const TriangleView<V>& L, bool lost) {
    if (lost) leave_blocks(L);
    for (Way* way : {&forward, &backward})
      if (way->runner) way->runner->update();
    setup_seconds = seconds_now() - begun;
  }

  /// Both ways, whatever the first one has failed of.
  void settle() {
    std::exception_ptr failure;
    for (Way* way : {&forward, &backward}) try {
        if (way->runner) way->runner->settle();
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    if (failure) std::rethrow_exception(failure);
  }

  int refinements_wanted(const TriangleView<V>& L, How how) {
    if (rows) return 0;  // as exact as substitution is
    if (factor && wants_all_steps<V>(factor->growth())) return most_refinements;
    // on GPUs several columns would be given room first, with all tables anew
    const SolveColumns<V> solve = options.engine == "cuda" ? one_by_one(solving(how), L.pattern.n) : solving(how);
    return trsv::refinements_wanted<V>(known(L), how, solve, options.threads);
  }
  /// The triangle that this was made of, with what is known of its pattern.
  TriangleView<V> known(TriangleView<V> L) const {
    L.pattern.sorted = sorted;
    return L;
  }
  /// Whether the inverses of blocks have lost what refinement cannot find again.
  bool has_lost_blocks() const { return factor && !is_refinable<V>(factor->growth()); }
  /// In any process: they solve by one plan. Collective.
  bool have_lost_blocks(Accord& accord) const { return accord.most({has_lost_blocks() ? 1.0 : 0.0})[0] > 0; }
  /// Keeps the triangle by rows from now on.
  void leave_blocks(const TriangleView<V>& L) {
    rows.emplace(L, FactorOptions{.threads = options.threads});
    by_values = true;
    forward = {}, backward = {};
    factor.reset();
  }

  trsv::SolveColumns<V> solving(How how) {
    return [this, how](const V* b, V* x, i64 columns) { solve(b, x, columns, how); };
  }

  TriangularOptions options;
  double begun;
  std::vector<i64> facts;              // that its plans are made for
  i64 plans_print = 0;                 // of saved plans that were taken
  std::optional<Factor<V>> factor;     // either,
  std::optional<LevelFactor<V>> rows;  //   or
  bool by_values = false;              //   rows, because of values that the triangle has or had
  bool has_no_values = false;          // new ones were refused when the old ones were gone
  std::optional<PaperTriangle<V>> paper;
  i64 entries = 0;
  bool sorted = false;  // LowerPattern::sorted of the triangle
  TinyPivots tiny;
  std::string width_reason;  // where it was chosen
  double width_seconds = 0, setup_seconds = 0, plan_seconds = 0, modelled_seconds = 0;
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
  const std::lock_guard lock(state_->turn);
  state_->solve(b, x, columns, how);
}

template <class V>
bool TriangularSolver<V>::solve_there(const V* b, V* x, i64 columns, How how, const InStream& in) {
  const std::lock_guard lock(state_->turn);
  return state_->ready(columns, how).solve_there(b, x, columns, how == How::adjoint, in);
}

template <class V>
void TriangularSolver<V>::settle() {
  const std::lock_guard lock(state_->turn);
  state_->settle();
}

template <class V>
Refinement TriangularSolver<V>::refine(const TriangleView<V>& L, const V* b, V* x, i64 columns, How how, int most_steps) {
  const std::lock_guard lock(state_->turn);
  return trsv::refine(state_->known(L), how, b, x, columns, most_steps, state_->solving(how), state_->options.threads);
}

template <class V>
int TriangularSolver<V>::refinements_wanted(const TriangleView<V>& L, How how) {
  const std::lock_guard lock(state_->turn);
  return state_->refinements_wanted(L, how);
}

template <class V>
void TriangularSolver<V>::update(const TriangleView<V>& L) {
  const std::lock_guard lock(state_->turn);
  State& s = *state_;
  if (s.options.engine != "processes") {
    s.settle();  // what a solve has failed of is told before anything changes
    s.take_values(L);
    return s.finish_update(L, s.has_lost_blocks());
  }
  Accord accord(all_processes(s.options.timeout, "update"));
  accord.together([&] { s.check_update(L); });  // before one of them takes new values
  s.has_no_values = true;
  accord.together([&] { s.take_values(L); });
  const bool lost = s.have_lost_blocks(accord);
  accord.together([&] { s.finish_update(L, lost); });
  s.has_no_values = false;
}

template <class V>
SavedPlans TriangularSolver<V>::saved_plans() const {
  const std::lock_guard lock(state_->turn);
  if (state_->paper) throw Error(Errc::unsupported, "algorithm paper has no plans to save");
  if (state_->by_values)
    throw Error(Errc::unsupported, "the triangle is kept by rows because of its values, and plans are of the pattern alone");
  SavedPlans all;
  all.facts = state_->facts;
  all.facts[ranks_fact] = state_->planned_ranks();
  if (state_->rows) return all;
  all.nodes = nodes_of(state_->factor->blocks());
  if (state_->forward.plan) all.forward = saved(*state_->forward.plan);
  if (state_->backward.plan) all.backward = saved(*state_->backward.plan);
  return all;
}

template <class V>
TriangularStatistics TriangularSolver<V>::statistics() const {
  const std::lock_guard lock(state_->turn);
  const State& s = *state_;
  TriangularStatistics t;
  t.entries = s.entries;
  t.by_rows = s.rows.has_value();
  if (s.paper) {
    s.paper->describe(t);
  } else if (s.rows) {
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
    t.memory_bytes += (way->plan ? bytes_of(*way->plan) : 0) + (way->runner ? way->runner->bytes() : 0);
  t.forward_tasks = s.forward.plan ? s.forward.plan->count() : 0;
  t.backward_tasks = s.backward.plan ? s.backward.plan->count() : 0;
  t.forward_ranks = s.forward.plan ? s.forward.plan->ranks : 0;
  t.backward_ranks = s.backward.plan ? s.backward.plan->ranks : 0;
  if (!s.paper) t.ranks = s.options.ranks > 0 ? s.options.ranks : std::max(t.forward_ranks, t.backward_ranks);
  t.tiny = s.tiny;
  t.growth = s.factor ? s.factor->growth() : 1;
  t.width = s.rows ? 0 : s.options.width;
  t.width_reason = s.rows ? "" : s.width_reason;
  t.width_seconds = s.width_seconds;
  t.forward_reason = s.forward.reason;
  t.backward_reason = s.backward.reason;
  t.threads = s.options.engine == "processes" ? t.ranks : std::max(t.ranks, thread_count(s.options.threads));
  t.setup_seconds = s.setup_seconds;
  t.symbolic_seconds = s.factor ? s.factor->symbolic_seconds() : 0;
  t.plan_seconds = s.plan_seconds;
  t.modelled_seconds = s.modelled_seconds;
  return t;
}

template class TriangularSolver<float>;
template class TriangularSolver<double>;
template class TriangularSolver<Number>;

}  // namespace sordino
