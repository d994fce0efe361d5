// Runs programs on the host and model engines, and says what they did.
#pragma once
#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>

#include "programs.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace runs {

using namespace sordino;
using Program = std::function<Outcome(Rank&)>;
using Mutation = std::function<void(Recording&)>;

struct Run {
  std::vector<double> history;
  std::vector<Ledger> ledgers;  // [rank]
  std::vector<Outcome> outcomes;
};

/// Mutates loops only: they are what overlap is about.
inline Run run(Engine& engine, const Program& program, const Mutation& mutate = {}, bool checking = true) {
  Run out;
  out.outcomes.resize(std::size_t(engine.size()));
  engine.run(
      [&](Rank& s) {
        s.checking = checking;
        if (mutate)
          s.mutate = [&](Recording& r) {
            if (r.is_loop) mutate(r);
          };
        out.outcomes[std::size_t(s.id())] = program(s);
      },
      {});
  out.history = engine.rank(0).history;
  for (int i = 0; i < engine.size(); i++) out.ledgers.push_back(engine.rank(i).ledger);
  return out;
}

inline Run on_host(int ranks, const Program& program, const Mutation& mutate = {}, bool checking = true) {
  host::HostEngine engine({.ranks = ranks, .timeout = 20});
  return run(engine, program, mutate, checking);
}

inline Run on_model(const model::Options& options, const Program& program, const Mutation& mutate = {}, bool checking = true) {
  model::ModelEngine engine(options);
  return run(engine, program, mutate, checking);
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<u64>(x) == std::bit_cast<u64>(y); });
}

/// What one rank does an iteration, in seconds: the difference of a long and a short run, so that set-up drops out.
constexpr int few = 20, many = 40;
struct Iteration {
  double exposed_reduction, hidden_reduction, exposed_halo, imbalance, time;
};
inline Iteration per_iteration(const model::Options& options, const std::function<Outcome(Rank&, int max)>& program, int rank,
                               const Mutation& mutate = {}) {
  auto ledger = [&](int max) {
    return on_model(options, [&](Rank& s) { return program(s, max); }, mutate).ledgers[std::size_t(rank)];
  };
  Ledger a = ledger(few), b = ledger(many);
  auto each = [&](double Ledger::* member) { return (b.*member - a.*member) / (many - few); };
  return {each(&Ledger::exposed_reduction), each(&Ledger::hidden_reduction), each(&Ledger::exposed_halo),
          each(&Ledger::imbalance), each(&Ledger::time)};
}

// --- mutations
// ----------------------------------------------------------------------------------------------------------------

/// Reductions end right behind their start: at the head of the command that follows. One that a loop carries over is moved if
/// that command is the first of the next iteration; elsewhere the recording before the loop would have to change with it.
inline void finish_at_once(Recording& r) {
  auto& commands = r.commands;
  auto position = [&](Op op, int slot) {
    for (std::size_t k = 0; k < commands.size(); k++)
      for (auto& p : commands[k].phases)
        if (p.op == op && p.slot == slot) return k;
    return commands.size();
  };
  auto following = [&](std::size_t k) {
    do k = (k + 1) % commands.size();
    while (commands[k].every > 0);
    return k;
  };
  for (std::size_t k = 0; k < commands.size(); k++)
    for (std::size_t i = 0; i < commands[k].phases.size(); i++) {
      Phase f = commands[k].phases[i];
      if (f.op != Op::finish) continue;
      std::size_t started = position(Op::start, f.slot);
      if (started == commands.size()) continue;
      std::size_t to = following(started);
      if (to == k || (started >= k && to != 0)) continue;
      commands[k].phases.erase(commands[k].phases.begin() + std::ptrdiff_t(i--));
      commands[to].phases.insert(commands[to].phases.begin() + 1, f);  // behind its launch
    }
}

/// Commands wait for their ghosts before they compute anything but what they send.
inline void await_at_once(Recording& r) {
  for (auto& c : r.commands)
    for (std::size_t k = 0; k < c.phases.size(); k++)
      if (c.phases[k].op == Op::await) {
        Phase await = c.phases[k];
        c.phases.erase(c.phases.begin() + std::ptrdiff_t(k));
        const auto before = c.phases.begin() + std::ptrdiff_t(k);
        const auto sent = std::find_if(c.phases.begin(), before, [](auto& p) { return p.op == Op::put; });
        c.phases.insert((sent == before ? c.phases.begin() : sent) + 1, await);  // else behind its launch
      }
}

inline Mutation drop_first(Op op) {
  return [op](Recording& r) {
    for (auto& c : r.commands)
      for (std::size_t i = 0; i < c.phases.size(); i++)
        if (c.phases[i].op == op) {
          c.phases.erase(c.phases.begin() + std::ptrdiff_t(i));
          return;
        }
  };
}

inline Mutation double_first(Op op) {
  return [op](Recording& r) {
    for (auto& c : r.commands)
      for (std::size_t i = 0; i < c.phases.size(); i++)
        if (c.phases[i].op == op) {
          c.phases.insert(c.phases.begin() + std::ptrdiff_t(i), Phase(c.phases[i]));
          return;
        }
  };
}

}  // namespace runs
