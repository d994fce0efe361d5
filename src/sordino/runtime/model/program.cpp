#include "sordino/runtime/model/program.hpp"

#include <algorithm>

#include "sordino/runtime/contains.hpp"
#include "sordino/runtime/model/cache.hpp"

namespace sordino::model {

ModelProgram::ModelProgram(ModelEngine& engine, Place& place, const Recording& recording, const std::vector<int>& vector_map,
                           const std::vector<int>& scalar_map)
    : Frame(place.rank, recording, vector_map, scalar_map, [&](int p) { return place.vectors[p].get(); }),
      engine_(engine),
      here_(place),
      booked_(recording.commands.size()),
      device_(engine.options_.machine.workers) {
  for (auto& c : recording.commands) ghost_reads_.push_back(ghosts_of(c));
  cached_ = found_in_cache(rank_, recording, engine_.options_.machine, [this](int t, int v) { return physical_vector(t, v); });
  std::vector<int> used;
  for (auto& c : recording.commands)
    if (std::find(used.begin(), used.end(), c.queue) == used.end()) used.push_back(c.queue);
  if (first_queue_lane + int(used.size()) > lanes)
    throw Error(Errc::unsupported, "a recording uses at most " + std::to_string(lanes - first_queue_lane) + " queues");
  queues_.resize(used.size());
  for (std::size_t k = 0; k < used.size(); k++) {
    queues_[k].party = who(rank_.id(), first_queue_lane + int(k));
    for (std::size_t i = 0; i < recording.commands.size(); i++)
      if (recording.commands[i].queue == used[k]) flatten(k, int(i));
  }
}

// Whoever reads a gathered vector reads other ranks' rows, even if another command has waited for them.
std::vector<int> ModelProgram::ghosts_of(const Command& c) const {
  std::vector<int> read = c.ghosts;
  for (int v : c.reads)
    if (rank_.vectors()[v].exchange && rank_.space(rank_.vectors()[v].space).replicated) read.push_back(v);
  return read;
}

// Steps between which a queue need not let others act, since nobody can tell the difference.
bool ModelProgram::is_local(Op op) const {
  if (!engine_.agenda_.in_time_order()) return false;
  if (op == Op::head) return true;
  return is_alone() && (op == Op::launch || op == Op::exit_test || op == Op::tasks);
}

void ModelProgram::flatten(std::size_t queue, int command) {
  const Command& c = recording().commands[command];
  auto& steps = queues_[queue].steps;
  const Machine& machine = engine_.options_.machine;
  double seconds = machine.compute(c.name, c.bytes, c.flops, cached_[std::size_t(command)]);
  bool opens = true;
  auto awaits_after = [&](const Phase& p) {
    return std::any_of(&p + 1, c.phases.data() + c.phases.size(), [](auto& later) { return later.op == Op::await; });
  };
  for (auto& p : c.phases) {
    Step s{.op = p.op,
           .opens = opens,
           .local = is_local(p.op),
           .ahead = p.op == Op::put && awaits_after(p),
           .command = command,
           .slot = p.slot,
           .every = c.every,
           .spread = machine.spread(c.name)};
    if (p.op == Op::tasks) s.seconds = seconds * c.groups[p.slot].share;
    if (p.op == Op::host) s.seconds = c.host_seconds;
    if (p.op == Op::launch) s.seconds = machine.launch(c.space >= 0 ? double(rank_.space(c.space).rows) : 0);
    steps.push_back(s);
    opens = false;
  }
  if (!opens) steps.push_back({.closes = true, .local = is_local(Op::tasks), .command = command});
}

void ModelProgram::begin(int max, double now) {
  max_ = max;
  outcome_ = {max, proceed};
  exit_command_ = -1;
  began_at_ = ended_at_ = now;
  error_ = nullptr;
  left_ = int(queues_.size());
  device_.clear();
  std::fill(booked_.begin(), booked_.end(), Booked{});
  if (!engine_.options_.arithmetic) forget_scalars();
  for (auto& q : queues_) {
    q.state = State::ready;
    q.at = 0;
    q.iteration = 0;
    q.entered = false;
    q.stop_seen = rank_.stop_seen;
    q.now = now;
    engine_.agenda_.add(q.party, now);
  }
}

// What a replay would compute has no value any more.
void ModelProgram::forget_scalars() {
  for (int t = 0; t < recording().period; t++)
    for (auto& c : recording().commands) {
      for (int s : c.puts) rank_.scalar_known[physical_scalar(t, s)] = 0;
      for (auto& p : c.phases)
        if (p.op == Op::finish)
          for (int s : rank_.reductions()[p.slot].to) rank_.scalar_known[physical_scalar(t, s)] = 0;
    }
}

void ModelProgram::end() {
  const auto& commands = recording().commands;
  for (std::size_t i = 0; i < commands.size(); i++) {
    if (booked_[i].calls == 0) continue;
    auto& k = rank_.ledger.kernels[commands[i].name];
    k.calls += booked_[i].calls;
    k.bytes += double(booked_[i].calls) * commands[i].bytes;
    k.flops += double(booked_[i].calls) * commands[i].flops;
    k.seconds += booked_[i].seconds;
    rank_.ledger.cached_bytes += double(booked_[i].calls) * cached_[i];
  }
  for (auto& q : queues_) rank_.stop_seen |= q.stop_seen;
  if (error_) std::rethrow_exception(error_);
}

// --- from step to step ------------------------------------------------------------------------------------------------------

void ModelProgram::act(int lane) {
  Queue& q = queues_[std::size_t(lane - first_queue_lane)];
  if (q.state == State::ready) go_on(q);
}

void ModelProgram::go_on(Queue& q) {
  constexpr int most_steps = 32;  // then the engine looks up, even if nobody else wants to act
  try {
    for (int step = 0; perform(q); step++) {
      if (step < most_steps && (q.steps[q.at].local || engine_.agenda_.may_go_on(q.now))) continue;
      engine_.agenda_.add(q.party, q.now);
      return;
    }
  } catch (...) {
    fail(q);
  }
}

// One step; false: the queue cannot go on now.
bool ModelProgram::perform(Queue& q) {
  const Step& s = q.steps[q.at];
  if (s.closes) {
    close(q, s);
    return true;
  }
  if (s.opens) {
    if (is_past_the_end(q, s)) {
      leave(q);
      return false;
    }
    if (s.every > 0 && q.iteration % s.every != s.every - 1) {
      pass_over(q, s);
      return true;
    }
  }
  if (!q.entered) {
    q.entered = true;
    q.next_peer = 0;
    if (s.opens) {
      q.began = q.now;
      q.waited = 0;
    }
    if (engine_.probe) engine_.probe(rank_, recording().commands[s.command], s.op, q.iteration);
  }
  if (!interpret(q, s)) return false;
  next_step(q);
  return true;
}

bool ModelProgram::interpret(Queue& q, const Step& s) {
  bool real = engine_.options_.arithmetic;
  switch (s.op) {
    case Op::launch: return launch(q, s);
    case Op::finish: return finish(q, s);
    case Op::exit_test: return exit_test(q, s);
    case Op::head:
      if (real) head(turn(q.iteration), s.command);
      return true;
    case Op::await: return await(q, s);
    case Op::tasks: return tasks(q, s);
    case Op::host: return host(q, s);
    case Op::put:
      if (!s.ahead) ghosts_are_read(q, s.command);  // else a command that reads ghosts sends when all its rows are done
      put(q, s);
      return true;
    case Op::start:
      ghosts_are_read(q, s.command);
      start(q, s);
      return true;
  }
  return true;
}

void ModelProgram::next_step(Queue& q) {
  q.entered = false;
  if (++q.at == q.steps.size()) {
    q.at = 0;
    q.iteration++;
  }
}

void ModelProgram::pass_over(Queue& q, const Step& s) {
  while (!q.steps[q.at].closes) q.at++;
  done(q, s.command);
}

// A command that sends does not end before what it sends has left.
void ModelProgram::close(Queue& q, const Step& s) {
  q.now = std::max(q.now, q.sends_until);
  q.sends_until = never;
  ghosts_are_read(q, s.command);
  book(q, s.command);
  done(q, s.command);
}

void ModelProgram::done(Queue& q, int command) {
  booked_[command].runs++;
  booked_[command].done_at = q.now;
  next_step(q);
  if (!is_alone()) wake_blocked_launches(q);
}

bool ModelProgram::is_past_the_end(const Queue& q, const Step& s) const {
  if (q.iteration >= max_) return true;
  int last = outcome_.iterations - 1;
  return exit_command_ >= 0 && (q.iteration > last || (q.iteration == last && s.command > exit_command_));
}

bool ModelProgram::block(Queue& q) {
  q.state = State::blocked;
  return false;
}

void ModelProgram::wake(int lane, double time) {
  std::size_t k = std::size_t(lane - first_queue_lane);
  if (k >= queues_.size() || queues_[k].state != State::blocked) return;
  queues_[k].state = State::ready;
  engine_.agenda_.add(queues_[k].party, std::max(queues_[k].now, time));
}

void ModelProgram::wake_blocked_launches(const Queue& q) {
  for (auto& other : queues_)
    if (&other != &q && other.state == State::blocked && other.steps[other.at].opens) wake(lane_of(other.party), q.now);
}

void ModelProgram::processor_is_free(double time) {
  for (auto& q : queues_)
    if (q.state == State::blocked && q.steps[q.at].op == Op::host) wake(lane_of(q.party), time);
}

void ModelProgram::device_due(double due) {
  if (due != device_.next()) return;  // more queues have begun to compute since it was announced
  Queue& q = queues_[std::size_t(device_.take())];
  if (!device_.idle()) engine_.agenda_.add(who(rank_.id(), device_lane), device_.next());
  q.now = due;
  q.state = State::ready;
  next_step(q);
  engine_.agenda_.add(q.party, due);
}

void ModelProgram::leave(Queue& q) {
  q.state = State::over;
  ended_at_ = std::max(ended_at_, q.now);
  if (--left_ == 0 && here_.awaits_replay) engine_.wake_program(here_, ended_at_);
}

// The program learns it from replay(), as on the host engine.
void ModelProgram::fail(Queue& q) {
  const Command& c = recording().commands[q.steps[q.at].command];
  std::string where = "command " + c.name + ", iteration " + std::to_string(q.iteration) + ": ";
  error_ = std::make_exception_ptr(caught(where, {.command = c.name, .iteration = q.iteration}));
  for (auto& each : queues_) each.state = State::over;
  left_ = 0;
  ended_at_ = q.now;
  if (here_.awaits_replay) engine_.wake_program(here_, q.now);
}

void ModelProgram::book(const Queue& q, int command) {
  booked_[command].calls++;
  booked_[command].seconds += q.now - q.began - q.waited;
  note(SpanKind::compute, command, recording().commands[command].name, q.began, q.now);
}

// Of many ranks the first ones, as many as a timeline shows: a trace has room for some iterations of each.
void ModelProgram::note(SpanKind kind, int command, const std::string& name, double start, double end) const {
  constexpr int most_traced = 8;
  if (rank_.id() < most_traced) engine_.trace_.add(rank_.id(), recording().commands[command].queue, kind, name, start, end);
}

std::vector<ModelProgram::Waiting> ModelProgram::waits() const {
  std::vector<Waiting> all;
  for (auto& q : queues_) {
    if (q.state != State::blocked) continue;
    const Command& c = recording().commands[q.steps[q.at].command];
    Awaited a = what_blocks(q);
    all.push_back({a.what + " (command " + c.name + ", iteration " + std::to_string(q.iteration) + ")",
                   {rank_.id(), c.name, q.iteration, a.expected, a.seen}});
  }
  return all;
}

std::unique_ptr<Program> ModelEngine::compile(Rank& rank, const Recording& r, const std::vector<int>& vectors,
                                              const std::vector<int>& scalars) {
  return std::make_unique<ModelProgram>(*this, place(rank), r, vectors, scalars);
}

}  // namespace sordino::model
