#include "sordino/runtime/cuda/tally.hpp"

#include <algorithm>
#include <numeric>

namespace sordino::cuda {

Tally::Tally(const Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
             const std::vector<int>& scalar_map)
    : rec_(recording), rank_(rank), cycle_(recording.period) {
  for (auto& c : rec_.commands)
    if (c.every > 0) cycle_ = std::lcm(cycle_, c.every);
  for (int t = 0; t < rec_.period; t++) {
    vector_maps_.push_back(rotated(vector_map, rec_.rotate, t));
    scalar_maps_.push_back(rotated(scalar_map, rec_.rotate_scalars, t));
  }
  iterations(one_cycle_, 0, cycle_);
}

void Tally::Effect::add(const Effect& e, i64 times) {
  counts.commands += times * e.counts.commands;
  counts.reductions += times * e.counts.reductions;
  counts.reduced_values += times * e.counts.reduced_values;
  counts.memory_bytes += double(times) * e.counts.memory_bytes;
  counts.flops += double(times) * e.counts.flops;
  tests += times * e.tests;
  auto scaled = [times](std::vector<u32>& to, const std::vector<u32>& from) {
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); i++) to[i] += u32(times) * from[i];
  };
  scaled(pushed, e.pushed);
  scaled(seen, e.seen);
  scaled(started, e.started);
  scaled(finished, e.finished);
}

// A command that exits has been launched, and its reductions are finished; nothing after the test was done.
void Tally::command(Effect& e, int iteration, int command, bool exits) const {
  const Command& c = rec_.commands[command];
  if (!c.active(iteration)) return;
  auto count = [](std::vector<u32>& v, int i) {
    if (int(v.size()) <= i) v.resize(i + 1);
    v[i]++;
  };
  auto& map = vector_maps_[iteration % rec_.period];
  e.counts.commands++;
  e.counts.memory_bytes += c.bytes;
  e.counts.flops += c.flops;
  if (c.starts >= 0 && !rank_.space(c.space).replicated) {
    e.counts.reductions += !c.joins;
    e.counts.reduced_values += c.sums;
  }
  for (auto& p : c.phases) {
    if (p.op == Op::finish) count(e.finished, p.slot);
    if (p.op == Op::exit_test) {
      e.tests++;
      if (exits) return;
    }
    if (p.op == Op::await) count(e.seen, map[p.slot]);
    if (p.op == Op::start) count(e.started, p.slot);
    if (p.op == Op::put) {
      count(e.pushed, map[p.slot]);
    }
  }
}

void Tally::iterations(Effect& e, i64 first, i64 last) const {
  for (i64 i = first; i < last; i++)
    for (int c = 0; c < int(rec_.commands.size()); c++) command(e, int(i), c, false);
}

i64 Tally::tests(i64 n) const {
  Effect rest;
  iterations(rest, 0, n % cycle_);
  return n / cycle_ * one_cycle_.tests + rest.tests;
}

i64 Tally::tests_until(i64 n, int exit_command) const {
  Effect last;
  for (int c = 0; c <= exit_command; c++) command(last, int(n - 1), c, c == exit_command);
  return tests(n - 1) + last.tests;
}

void Tally::book(Rank& rank, i64 n, int exit_command) const {
  Effect e;
  i64 whole = exit_command < 0 ? n : n - 1;
  e.add(one_cycle_, whole / cycle_);
  iterations(e, 0, whole % cycle_);
  if (exit_command >= 0)
    for (int c = 0; c <= exit_command; c++) command(e, int(n - 1), c, c == exit_command);
  Ledger& l = rank.ledger;
  l.commands += e.counts.commands;
  l.reductions += e.counts.reductions;
  l.reduced_values += e.counts.reduced_values;
  l.memory_bytes += e.counts.memory_bytes;
  l.flops += e.counts.flops;
  for (std::size_t v = 0; v < e.pushed.size(); v++) {
    rank.pushed[v] += e.pushed[v];
    if (e.pushed[v] == 0) continue;
    for (auto& p : rank.vectors()[v].exchange->peers)
      l.book_message(rank.engine().carrier(rank.id(), p.rank), p.send_count * i64(sizeof(double)), e.pushed[v]);
  }
  for (std::size_t v = 0; v < e.seen.size(); v++) rank.seen[v] += e.seen[v];
  for (std::size_t s = 0; s < e.started.size(); s++) rank.reductions()[s].started += e.started[s];
  for (std::size_t s = 0; s < e.finished.size(); s++) rank.reductions()[s].finished += e.finished[s];
  // Iterations of the first cycle have set every scalar that any iteration sets.
  for (i64 i = 0; i < std::min<i64>(n, cycle_); i++)
    scalars(int(i), [&](int physical, Use use, int command) {
      bool complete = exit_command < 0 || i < n - 1 || command < exit_command;
      if (use == Use::put ? complete : use == Use::finished && (complete || command == exit_command))
        rank.scalar_known[physical] = 1;
    });
}

template <class Visit>
void Tally::scalars(int iteration, const Visit& visit) const {
  auto& map = scalar_maps_[iteration % rec_.period];
  for (int i = 0; i < int(rec_.commands.size()); i++) {
    auto& c = rec_.commands[i];
    if (!c.active(iteration)) continue;
    for (auto& p : c.phases)
      if (p.op == Op::finish)
        for (int s : rank_.reductions()[p.slot].to) visit(map[s], Use::finished, i);
    for (int s : c.gets) visit(map[s], Use::read, i);
    for (int s : c.puts) visit(map[s], Use::put, i);
  }
}

void Tally::check_scalars(const Rank& rank, i64 n) const {
  std::vector<char> known = rank.scalar_known;
  if (std::find(known.begin(), known.end(), 0) == known.end()) return;
  for (i64 i = 0; i < std::min<i64>(n, cycle_); i++)
    scalars(int(i), [&](int physical, Use use, int) {
      if (use != Use::read)
        known[physical] = 1;
      else if (!known[physical])
        bad_argument("scalar '" + rank.scalar_names()[physical] + "' is read before it has a value");
    });
}

}  // namespace sordino::cuda
