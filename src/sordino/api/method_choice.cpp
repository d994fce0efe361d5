#include "sordino/api/method_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "sordino/api/ghosts.hpp"
#include "sordino/base/range.hpp"
#include "sordino/runtime/model/cache.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace sordino {
namespace {

constexpr double worth_it = 0.95;      // of the time of what is taken so far: what the next method may take at most
constexpr double worth_hiding = 0.9;   // the same of a method whose gain is what work hides: of all predicted that misses most
constexpr double dominated = 0.5;      // of cg's time, from which on its sums are worth cbcg
constexpr double as_fast = 1.02;       // of the fastest s's time: what a smaller one may take, whose basis is sounder
constexpr double finest_rtol = 1e-10;  // recurrences of the others drift further before they are replaced or restarted
constexpr i64 most_at_one_side = 32;   // entries of a row of the small matrix; denser ones count as more rows
constexpr int warm = 4, timed = 4;     // rounds of a loop that are walked
constexpr int offered[] = {1, 2, 3, 4, 6, 8, 12};  // for s=auto: what halves are taken of, and the paper's
constexpr int most_powers = 3;                     // of A, that are independent
constexpr int of_cycles = 4;                       // with multigrid: of some ten iterations whole rounds are taken

/// One rank on its way through a loop, on the clock of a described machine.
class Walk {
 public:
  Walk(const Rank& rank, const Recording& loop, const Load& load, const Machine& machine)
      : rank_(rank), loop_(loop), load_(load), machine_(machine), edge_(std::min(1.0, load.ghosts / load.rows)) {
    names_.resize(rank.vectors().size());
    std::iota(names_.begin(), names_.end(), 0);
    Machine fewer = machine;  // as much of the recorded rows fits as of the real ones
    fewer.cache.bytes *= double(rank.space(rank.vectors().front().space).rows) / load.rows;
    found_ = model::found_in_cache(rank, loop, fewer, [this](int t, int v) { return rotated(names_, loop_.rotate, t)[v]; });
  }

  void go_round(int round) {
    std::vector<int> names = rotated(names_, loop_.rotate, round);
    for (std::size_t k = 0; k < loop_.commands.size(); k++) {
      const Command& c = loop_.commands[k];
      if (c.every > 0) continue;  // looks, once in many iterations, are alike in all methods
      for (const Phase& p : c.phases) step(c, p, names, found_[k]);
      now_ = std::max(now_, sends_until_);
    }
  }
  double now() const { return now_; }
  double waited() const { return waited_; }

 private:
  void step(const Command& c, const Phase& p, const std::vector<int>& names, double found) {
    switch (p.op) {
      case Op::launch: now_ += machine_.launch(rows(c)); break;
      case Op::tasks: now_ += seconds(c, c.groups[std::size_t(p.slot)].share, found); break;
      case Op::start: start(c, p.slot); break;
      case Op::finish: finish(p.slot); break;
      case Op::put: put(names[std::size_t(p.slot)]); break;
      case Op::await: now_ = std::max(now_, arrives_[names[std::size_t(p.slot)]]); break;
      default: break;
    }
  }

  /// Of the rank. Where nobody knows how many all ranks have, as of batches of rows, they are few.
  double rows(const Command& c) const {
    if (c.space < 0) return 0;
    const Space& space = rank_.space(c.space);
    return space.replicated || space.n_global == 0 ? double(space.rows) : load_.rows;
  }

  /// Of a group with such a share of the small command. One of a few rows is at the edge: it is sent, or waits for what is.
  /// `found`: of the small command's bytes, in the cache.
  double seconds(const Command& c, double share, double found) const {
    if (rank_.space(c.space).replicated) return share * machine_.compute(c.name, c.bytes, c.flops);
    const double factor = load_.rows / double(rank_.space(rank_.vectors().front().space).rows);
    auto edges = std::count_if(c.groups.begin(), c.groups.end(), [](const TaskGroup& g) { return g.share < 0.5; });
    const double part = share < 0.5 ? edge_ / double(edges) : edges > 0 ? 1 - edge_ : share;
    return part * machine_.compute(c.name, factor * c.bytes, factor * c.flops, factor * found);
  }

  void start(const Command& c, int slot) {
    now_ = std::max(now_, sends_until_);  // sums are handed in when rows have left
    if (c.joins) return;
    now_ += machine_.reduction_start_s;
    const Reduction& sum = rank_.reductions()[std::size_t(slot)];
    if (!rank_.space(sum.space).replicated) ends_[slot] = now_ + machine_.reduction(load_.ranks);
  }

  void finish(int slot) {
    waited_ += std::max(0.0, ends_[slot] - now_);
    now_ = std::max(now_, ends_[slot]);
  }

  /// Two neighbours, of which one is on another node where there are several; a node of one rank has only such. What is sent
  /// one way goes one after the other.
  void put(int vector) {
    if (load_.ranks == 1) return;
    const bool several = machine_.ranks_per_node > 0 && load_.ranks > machine_.ranks_per_node;
    const int peers = load_.ranks > 2 ? 2 : 1, far = !several ? 0 : machine_.ranks_per_node == 1 ? peers : 1;
    const double bytes = sizeof(double) * load_.ghosts / peers;
    sends_until_ = now_ + machine_.push_s;
    now_ += peers * machine_.put_overhead_s;
    arrives_[vector] = now_;
    auto send = [&](int messages, double& free, double latency, double bandwidth) {
      if (messages == 0) return;
      free = std::max(now_, free) + messages * bytes / bandwidth;
      arrives_[vector] = std::max(arrives_[vector], free + latency);
    };
    send(peers - far, link_free_, machine_.link_latency_s, machine_.link_bandwidth);
    send(far, network_free_, machine_.internode_latency_s, machine_.internode_bandwidth);
  }

  const Rank& rank_;
  const Recording& loop_;
  const Load& load_;
  const Machine& machine_;
  double edge_;  // of a rank's rows
  double now_ = 0, waited_ = 0, sends_until_ = 0, link_free_ = 0, network_free_ = 0;
  std::vector<int> names_;
  std::vector<double> found_;             // [command] bytes, in the cache
  std::map<int, double> ends_, arrives_;  // of reductions, of ghosts
};

/// By a loop that `rank` has recorded for fewer rows.
IterationTime seconds_of_iteration(const Rank& rank, const Recording& loop, const Load& load, const Machine& machine) {
  Walk walk(rank, loop, load, machine);
  int round = 0;
  while (round < warm) walk.go_round(round++);
  const double begun = walk.now(), waited = walk.waited();
  while (round < warm + timed) walk.go_round(round++);
  const double iterations = double(timed) * loop.steps;
  return {(walk.now() - begun) / iterations, (walk.waited() - waited) / iterations};
}

/// A matrix with so many entries in a row, beside the diagonal: about what the system's has, in few rows.
CsrMatrix banded(i64 n, i64 at_one_side) {
  CsrMatrix A;
  A.n = n;
  A.indptr.push_back(0);
  for (i64 i = 0; i < n; i++) {
    for (i64 j = std::max<i64>(0, i - at_one_side); j <= std::min(n - 1, i + at_one_side); j++) {
      A.indices.push_back(i32(j));
      A.values.push_back(i == j ? 2.0 * double(at_one_side) + 1 : -1.0);
    }
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

model::Options two_ranks() {
  model::Options o;
  o.ranks = 2;
  return o;
}

/// Times methods by solvers of a small system on two ranks, with as many bytes a row.
class Trial {
 public:
  Trial(const System& s, const Options& o, const Choice& c, const Load& load, const Machine& machine)
      : options_(o), choice_(c), machine_(machine), load_(load) {
    const i64 half = std::clamp(i64(std::lround((load.entries - 1) / 2)), i64(1), most_at_one_side);
    const i64 rows = std::max<i64>(64, 16 * half);  // of a rank: a few of them at its edge
    A_ = banded(2 * rows, half);
    system_.A = A_.view();
    if (!s.diagonal.empty()) system_.diagonal.assign(std::size_t(A_.n), 1.0);
    choice_.storage = choose_storage(system_.A, c.storage.name, rows, o.precond == "sqrt-jacobi");
    load_.rows *= std::max(1.0, load.entries / double(2 * most_at_one_side + 1));
    partition_ = partition_of(system_, choice_, 2);
    scaled_ = scaled_matrix(system_, choice_);
  }

  IterationTime of(const MethodEntry& method, int steps = 1) {
    Choice c = choice_;
    c.method = &method;
    c.steps = steps;
    std::vector<Part> parts(2);
    engine_.run(
        [&](Rank& rank) { parts[std::size_t(rank.id())] = build_part(rank, system_, c, options_, partition_, scaled_.get()); });
    return seconds_of_iteration(engine_.rank(0), parts[0].driver->loop(), load_, machine_);
  }

 private:
  const Options& options_;
  Choice choice_;
  const Machine& machine_;
  model::ModelEngine engine_{two_ranks()};  // one thread, whatever else this machine does
  CsrMatrix A_;
  System system_;
  Load load_;
  Partition partition_;
  std::unique_ptr<ScaledMatrix> scaled_;
};

Load load_of(const System& s, const Choice& c, int ranks) {
  if (!s.has_entries()) return {double(s.words()) / ranks, 1, 0, ranks};
  const Diagonals& d = c.storage.diagonals;
  const double entries = d.empty() ? double(s.A.nnz()) / double(s.A.n) : double(d.offsets.size());
  return {double(s.A.n) / ranks, entries, double(ghosts_inside(s, c, ranks)), ranks};
}

bool may_take(const MethodEntry& m, const Choice& c) { return c.preconditioner != "sqrt-jacobi" || m.scalable; }

/// Why it is cg, whatever a machine would say; empty: it is not said yet.
std::string why_cg(const System& s, const Options& o, const Choice& c, bool described) {
  if (!s.has_entries()) return "nobody knows what a product costs with a matrix that is " + std::string(s.stands_as());
  if (s.A.is_complex()) return "the entries are complex";
  if (s.brings_operator() || c.preconditioner == "block-ilu" || has_levels(c.preconditioner) || is_incomplete(c.preconditioner))
    return "nobody knows what the preconditioner costs";
  if (o.deterministic == "on")
    return "deterministic 'on' keeps the bits on any number of ranks, and others would be faster on some";
  if (o.rtol < finest_rtol) return "others lose digits, and rtol is below 1e-10";
  return described ? "" : "nobody has described this machine";
}

std::string duration(double seconds) {
  char text[32];
  const bool brief = seconds < 1e-3;
  std::snprintf(text, sizeof text, "%.3g %s", seconds * (brief ? 1e6 : 1e3), brief ? "us" : "ms");
  return text;
}

int most_steps(const Options& o) {
  const int most = o.basis == "monomial" ? most_powers : std::end(offered)[-1];
  return o.maxiter > 0 ? std::min(most, o.maxiter) : most;
}

std::string on_ranks(int ranks) {
  return " on " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + " of the described machine";
}

/// What cbcg is to take at once, and why; what an iteration then takes.
struct Steps {
  int at_once = 1;
  std::string why;
  IterationTime time;
};

Steps steps_of_cbcg(const Options& o, Trial& trial, int ranks) {
  const MethodEntry& cbcg = method("cbcg");
  if (o.s) return {*o.s, "asked for", trial.of(cbcg, *o.s)};
  std::map<int, IterationTime> found;
  double fastest = HUGE_VAL;
  for (int s : offered) {
    if (s > most_steps(o)) break;
    fastest = std::min(fastest, (found[s] = trial.of(cbcg, s)).seconds);
  }
  if (!(fastest < HUGE_VAL)) {
    const IterationTime never{.seconds = HUGE_VAL};
    return {most_steps(o), "by the machine's description no s takes a finite time", never};
  }
  auto taken = std::find_if(found.begin(), found.end(), [&](auto& f) { return f.second.seconds <= as_fast * fastest; });
  Steps steps{taken->first, "an iteration takes " + duration(taken->second.seconds) + on_ranks(ranks), taken->second};
  auto compare = [&](auto& other) {
    steps.why += ", and with s = " + std::to_string(other.first) + " " + duration(other.second.seconds);
  };
  if (taken != found.begin()) compare(*std::prev(taken));
  if (std::next(taken) != found.end()) compare(*std::next(taken));
  return steps;
}

/// A choice by which a small system is set up, whatever operators the real one has: each s applies them as often.
Choice with_any_operators(const System& s, Choice c) {
  const std::string& p = c.preconditioner;
  if (p == "block-ilu" || is_incomplete(p) || has_levels(p) || p == "block-jacobi") c.preconditioner = "jacobi";
  if (!s.has_entries()) c.storage.name = "csr";
  c.tiling = {}, c.blocks = nullptr, c.levels = nullptr;
  return c;
}

void settle_steps(Choice& choice, const System& s, const Options& o, const std::optional<Machine>& machine,
                  const std::function<Load()>& load) {
  if (o.s) {
    choice.steps = *o.s, choice.why_steps = "asked for";
  } else if (has_levels(choice.preconditioner) || choice.levels) {
    choice.steps = std::min(of_cycles, most_steps(o)), choice.why_steps = "cycles of multigrid leave few iterations";
  } else if (!machine) {
    choice.steps = most_steps(o), choice.why_steps = "nobody has described this machine";
  } else {
    Range range("choose s");
    validate(*machine);
    Load of_words = load();
    of_words.rows *= s.has_entries() ? s.A.words : 1;
    Trial trial(s, o, with_any_operators(s, choice), of_words, *machine);
    const Steps found = steps_of_cbcg(o, trial, of_words.ranks);
    choice.steps = found.at_once, choice.why_steps = found.why;
  }
}

/// A method that is looked at, and what an iteration of it takes.
struct Candidate {
  const MethodEntry* method = nullptr;
  IterationTime time = {.seconds = HUGE_VAL};
};

std::string why(const Candidate& cg, const Candidate& taken, const Candidate& other, const std::string& where) {
  const std::string cg_takes = duration(cg.time.seconds), waits = ", " + duration(cg.time.sums) + " of them waiting for sums";
  const std::string name_of_other = other.method ? std::string(other.method->name) : "";
  std::string text = "it takes " + duration(taken.time.seconds) + " an iteration" + where;
  if (taken.method == cg.method)
    return text + waits + ", and " + name_of_other + ", the best of the others, " + duration(other.time.seconds);
  text += ", and cg " + cg_takes + waits;
  if (other.time.seconds < taken.time.seconds)
    text += ", and " + name_of_other + " " + duration(other.time.seconds) + ", which is too little less";
  return text;
}

double bar_of(const MethodEntry& m) { return m.name == "gropp" || m.name == "prcg" ? worth_hiding : worth_it; }

/// In the order of what they move and how they drift: each has to be worth it beside what is taken of those before it.
void choose_by_machine(Choice& choice, const System& s, const Options& o, const Load& load, const Machine& machine) {
  Range range("choose the method");
  validate(machine);
  Trial trial(s, o, choice, load, machine);
  const Candidate cg{choice.method, trial.of(*choice.method)};
  Candidate taken = cg, other;  // the fastest that is not taken, cg aside
  Steps steps;
  for (const char* name : {"cgcg", "gropp", "prcg", "cbcg"}) {
    const MethodEntry& m = method(name);
    if (!may_take(m, choice) || (m.name == "cbcg" && cg.time.sums < dominated * cg.time.seconds)) continue;
    if (m.name == "cbcg") steps = steps_of_cbcg(o, trial, load.ranks);
    Candidate found{&m, m.name == "cbcg" ? steps.time : trial.of(m)};
    if (found.time.seconds < bar_of(m) * taken.time.seconds) std::swap(found, taken);
    if (found.method != cg.method && found.time.seconds < other.time.seconds) other = found;
  }
  if (taken.method == cg.method && !other.method) {
    choice.why_method = cg.time.seconds < HUGE_VAL
                            ? "by the machine's description no other method that may be taken takes a finite time"
                            : "by the machine's description no method takes a finite time";
    return;
  }
  choice.method = taken.method;
  if (taken.method->name == "cbcg") choice.steps = steps.at_once, choice.why_steps = steps.why;
  choice.why_method = why(cg, taken, other, on_ranks(load.ranks));
}

}  // namespace

IterationTime seconds_of(const Choice& c, const System& s, const Options& o, int ranks, const Machine& machine) {
  return Trial(s, o, c, load_of(s, c, ranks), machine).of(*c.method, c.steps);
}

void settle_method(Choice& choice, const System& s, const Options& o, const std::optional<Machine>& machine,
                   const std::function<Load()>& load) {
  if (choice.why_method.empty()) {
    choice.why_method = why_cg(s, o, choice, machine.has_value());
    if (choice.why_method.empty()) choose_by_machine(choice, s, o, load(), *machine);
  }
  if (choice.why_steps.empty() && choice.method->name == "cbcg") settle_steps(choice, s, o, machine, load);
}

void settle_method(Choice& choice, const System& s, const Options& o, int ranks, const std::optional<Machine>& machine) {
  settle_method(choice, s, o, machine, [&] { return load_of(s, choice, ranks); });
}

}  // namespace sordino
